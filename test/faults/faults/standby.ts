import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { takeBaseBackup } from '../../support/base-backup.ts';
import { createPostgresServer } from '../../support/postgres-server.ts';
import type { Fault, World } from '../fault.ts';
import { createTcpProxy } from '../tcp-proxy.ts';
import { underLoad } from '../under-load.ts';

/** How long the address leads to the standby, in ms: longer than a token is trusted. */
const ON_STANDBY = 6000;

/** As after a failover whose address comes too early: connections are cut, new ones lead to a server that only reads. */
export const standby: Fault = {
  name: 'standby',
  title: 'the address leads to a read-only standby for 6 s',
  run: async (world) => {
    const replica = await startStandby(world);
    const proxy = await createTcpProxy(world.postgres.port);
    try {
      const store = await world.startStore({}, proxy.through(world.postgres.url));
      return await underLoad({
        world,
        url: store.url,
        promises: { longestWait: 2000, recovery: 2000, codes: [1501] },
        fault: async () => {
          proxy.redirect(replica.port);
          await setTimeout(ON_STANDBY);
          // Connections to the standby stay open: it is the store that must let go of them.
          proxy.redirectNew(world.postgres.port);
        },
      });
    } finally {
      proxy.close();
      await replica.kill();
    }
  },
};

/** A hot standby of the world's server, which follows it by streaming replication and has its tokens. */
const startStandby = async ({ postgres, folder }: World) => {
  const replica = await createPostgresServer({
    folder,
    name: 'standby',
    settings: `primary_conninfo = '${postgres.url}'\n`,
    fill: async (directory) => {
      await takeBaseBackup(postgres, directory);
      writeFileSync(join(directory, 'standby.signal'), '');
    },
  });
  await replica.start();
  while ((await replica.query('SELECT FROM tokens')).length === 0) await setTimeout(50);
  return replica;
};
