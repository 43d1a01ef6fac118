import type { Fault } from '../fault.ts';
import { connectionsTerminated } from './connections-terminated.ts';
import { diskFull } from './disk-full.ts';
import { networkStalled } from './network-stalled.ts';
import { manyClients, tenTimesTheRate } from './overload.ts';
import { postgresKilled, postgresStopped } from './postgres-down.ts';
import { replicasKilled, rollingRestart } from './replicas.ts';
import { retriesWithKeys } from './retries-with-keys.ts';
import { slowConnections } from './slow-connections.ts';
import { slowDatabase } from './slow-database.ts';
import { soak } from './soak.ts';
import { standby } from './standby.ts';
import { storeKilled } from './store-killed.ts';

/** All faults, in the order of the table. */
export const faults: readonly Fault[] = [
  postgresKilled,
  postgresStopped,
  connectionsTerminated,
  networkStalled,
  slowDatabase,
  storeKilled,
  retriesWithKeys,
  rollingRestart,
  replicasKilled,
  standby,
  diskFull,
  slowConnections,
  manyClients,
  tenTimesTheRate,
  soak,
];
