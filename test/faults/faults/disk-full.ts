import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { makeFolder } from '../../support/postgres-server.ts';
import type { Fault } from '../fault.ts';
import { mountSmallDisk, smallDiskObstacle } from '../small-disk.ts';
import { underLoad } from '../under-load.ts';

const MEGABYTES = 64;
/** How long the disk stays full, in ms: longer than the store trusts a token without a lookup. */
const FULL = 6000;

/** The disk of the table, not of the write-ahead log: PostgreSQL exits if the latter is full, as with kill -9. */
export const diskFull: Fault = {
  name: 'disk-full',
  title: "PostgreSQL's disk is full for 6 s",
  obstacle: smallDiskObstacle,
  run: async (world) => {
    const { postgres, folder } = world;
    const directory = makeFolder(join(folder, 'disk'), postgres.account);
    const disk = mountSmallDisk(directory, MEGABYTES, postgres.account);
    const data = makeFolder(join(directory, 'data'), postgres.account);
    await postgres.query(`CREATE TABLESPACE small LOCATION '${data}'`);
    const moveTo = async (tablespace: string) => {
      await postgres.query(`ALTER TABLE plants SET TABLESPACE ${tablespace}`);
      await postgres.query(`ALTER INDEX plants_pkey SET TABLESPACE ${tablespace}`);
    };
    try {
      await moveTo('small');
      const store = await world.startStore();
      return await underLoad({
        world,
        url: store.url,
        promises: { longestWait: 2000, recovery: 2000, codes: [1501] },
        fault: async () => {
          disk.fill();
          await setTimeout(FULL);
          disk.clear();
        },
      });
    } finally {
      disk.clear();
      await postgres.query('TRUNCATE plants');
      await moveTo('pg_default');
      await postgres.query('DROP TABLESPACE small');
      disk.unmount();
    }
  },
};
