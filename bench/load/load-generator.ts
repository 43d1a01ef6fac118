import { versionOf } from '../processes/command.ts';
import { autocannonVersion, runAutocannon } from './autocannon.ts';
import type { LoadGenerator } from './load.ts';
import { runWrk } from './wrk.ts';

/** wrk if it is installed: it takes less CPU from the server than autocannon, which runs on Node.js. */
export const chooseLoadGenerator = async (folder: string): Promise<LoadGenerator> => {
  const wrk = await versionOf('wrk');
  if (wrk) return { name: wrk.replace(/ Copyright.*/, ''), run: (load) => runWrk(load, folder) };
  return { name: `autocannon ${autocannonVersion}`, run: runAutocannon };
};
