import type { Command } from 'commander';
import { z } from 'zod';
import { parseJsonText } from '../bodies/exact-json.ts';
import type { Config } from '../config/config.ts';
import { OperationalError, StoreError } from '../errors.ts';
import { parseBody, parseParameters } from '../http/parse-request.ts';
import type { ManyRequest } from '../plants/change-many.ts';
import { manyPlantsQuerySchema, plantCountQuerySchema, plantPatchSchema } from '../plants/plant.ts';
import { createPlantRepository } from '../plants/plant-repository.ts';
import { createPlantService, type PlantService } from '../plants/plant-service.ts';
import { formatCount } from '../quote-value.ts';
import { limitRequests } from '../request-limits.ts';
import { parseOnce } from './option-parsers.ts';
import { note, print } from './output.ts';
import { RemoteError, type RemoteRequest, type RemoteService, readResult, send } from './remote-service.ts';
import { addServiceOptions, type CommandSettings, serviceOf } from './service-options.ts';
import { interruptible } from './stop-signal.ts';
import { withDatabase, withPrisma } from './with-database.ts';

type CommandOptions = {
  url?: string;
  tokenFile?: string;
  tag?: string;
  q?: string;
  id?: string[];
  limit?: string;
  dryRun?: true;
  json?: true;
};

/** What each command requests of a service; a database gets the same parameters. `done`: the member of the response that counts. */
const actions = {
  count: { method: 'GET', path: '/plants/count', schema: plantCountQuerySchema, done: 'count' },
  delete: { method: 'DELETE', path: '/plants', schema: manyPlantsQuerySchema, done: 'deleted' },
  patch: { method: 'PATCH', path: '/plants', schema: manyPlantsQuerySchema, done: 'updated' },
} as const;

type ActionName = keyof typeof actions;

const once = parseOnce(z.string());

/** Adds `count`, and `delete` and `patch` of all plants that match. */
export const addManyCommands = (program: Command, settings: CommandSettings): void => {
  const add = (name: ActionName, description: string) => {
    const command = program
      .command(name)
      .description(description)
      .option('--tag <tag>', 'only plants with this tag', once)
      .option('--q <text>', 'only plants whose name contains this text, ignoring case', once);
    if (name !== 'count')
      command
        .option('--id <id>', 'only the plant with this id; repeat it for up to 100', (id, ids: string[] = []) => [
          ...ids,
          id,
        ])
        .option('--limit <count>', 'only so many, the first in the order of ids, 1 to 100000', once)
        .option('--dry-run', 'count the plants and change nothing');
    if (name === 'patch') command.argument('<patch>', 'a JSON Merge Patch, such as \'{"tag": "Abies"}\'');
    addServiceOptions(command.option('--json', 'print the result as JSON')).action(() => run(name, command, settings));
  };
  add('count', 'count all plants, or those that match');
  add('delete', 'delete all plants that match');
  add('patch', 'change all plants that match');
};

const run = async (name: ActionName, command: Command, { config, environment }: CommandSettings) => {
  const { done, schema, ...target } = actions[name];
  const [patch] = command.args;
  const { url, tokenFile, json, dryRun = false, ...filter } = command.opts<CommandOptions>();
  const query = { ...filter, ...(dryRun && { dryRun: 'true' }) };
  const request = toRequest(command, schema, query);
  const service = serviceOf(command, environment);
  const isChange = name !== 'count' && !dryRun;
  // The first Ctrl-C does not end a statement, which takes a few seconds at most, and whose outcome would not be known.
  const count = await interruptible((signal) =>
    service
      ? askService(service, done, { ...target, query, signal, ...(patch !== undefined && bodyOf(patch)) }, isChange)
      : askDatabase(config(), (plants) => plants[isChange ? 'changeMany' : 'count'](request, () => false)),
  );
  const text = name === 'count' ? String(count) : `${dryRun ? 'Dry run: ' : ''}${formatCount(count)} ${done}`;
  await print(json ? `${JSON.stringify({ [done]: count })}\n` : `${text}\n`).catch((error) => {
    // What is changed is changed, whether or not it could be printed.
    if (isChange) note(`${text}.`);
    throw error;
  });
};

/** Wrong options are a usage error, for which nothing is done. */
const toRequest = (command: Command, schema: z.ZodObject, query: object): ManyRequest => {
  const [patch] = command.args;
  try {
    const { tag, q, id, limit } = parseParameters(schema, query) as z.output<typeof manyPlantsQuerySchema>;
    const filter = { tag, q, id };
    if (patch === undefined) return { filter, limit };
    // Node.js puts U+FFFD for bytes of an argument that are not UTF-8.
    if (patch.includes('\uFFFD'))
      return command.error('error: The patch is not UTF-8, or has the replacement character U+FFFD.');
    return { filter, limit, change: parseBody(plantPatchSchema, parseJsonText(patch, 'The patch'), 'The patch') };
  } catch (error) {
    if (error instanceof StoreError) return command.error(`error: ${error.message}`);
    throw error;
  }
};

const bodyOf = (patch: string) => ({
  headers: { 'Content-Type': 'application/merge-patch+json' },
  body: () => [Buffer.from(patch)],
});

const askService = async (service: RemoteService, done: string, request: RemoteRequest, isChange: boolean) => {
  try {
    const result = await readResult(await send(service, request), service, z.object({ [done]: z.int().min(0) }));
    return result[done] as number;
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const reason = request.signal.aborted ? 'Interrupted.' : error.message;
    throw new OperationalError(
      isChange && error.outcome === 'unknown' ? `${reason} It is not known whether plants were changed.` : reason,
    );
  }
};

const askDatabase = (config: Config, ask: (plants: PlantService) => Promise<number>): Promise<number> => {
  const limits = limitRequests(config);
  return withDatabase(config, (url) =>
    withPrisma(
      url,
      (database) => {
        const repository = createPlantRepository({ database, retention: config.idempotencyRetention });
        return ask(createPlantService({ repository, limits }));
      },
      limits,
    ),
  );
};
