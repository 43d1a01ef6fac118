import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { takeBaseBackup } from '../../support/base-backup.ts';
import { createPostgresServer } from '../../support/postgres-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Fault, World } from '../fault.ts';
import { createTcpProxy } from '../tcp-proxy.ts';
import { underLoad } from '../under-load.ts';

/** How long the address leads to the standby, in ms: longer than the store trusts a token without a lookup. */
const ON_STANDBY = 6000;

/** As in a failover in which the address changes too early: connections are closed, and new ones lead to a read-only server. */
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
          // Connections to the standby stay open: the store must close them.
          proxy.redirectNew(world.postgres.port);
        },
      });
    } finally {
      proxy.close();
      await replica.kill();
    }
  },
};

/** Starts a hot standby with streaming replication, and waits until it has the tokens. */
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
  await waitUntil('the tokens', async () => (await replica.query('SELECT FROM tokens')).length > 0);
  return replica;
};
