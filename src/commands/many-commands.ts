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
import { RemoteError, type RemoteService, readResult, send } from './remote-service.ts';
import { addServiceOptions, type CommandSettings, type ServiceOptions, serviceOf } from './service-options.ts';
import { interruptible } from './stop-signal.ts';
import { withDatabase, withPrisma } from './with-database.ts';

type Filter = { tag?: string; q?: string; id?: string[]; limit?: string };

type CommandOptions = ServiceOptions & Filter & { dryRun?: true; json?: true };

/** What a command does: the request to a service, and the same with the database. `done`: the name of the number. */
type Action = {
  method: 'GET' | 'DELETE' | 'PATCH';
  path: string;
  schema: typeof plantCountQuerySchema | typeof manyPlantsQuerySchema;
  done: 'count' | 'deleted' | 'updated';
};

const once = parseOnce(z.string());

/** Adds `count`, and `delete` and `patch` of all plants that match. */
export const addManyCommands = (program: Command, settings: CommandSettings): void => {
  const add = (name: string, description: string, action: Action) => {
    const command = program
      .command(name)
      .description(description)
      .option('--tag <tag>', 'only plants with this tag', once)
      .option('--q <text>', 'only plants whose name contains this text, ignoring case', once);
    if (action.schema === manyPlantsQuerySchema)
      command
        .option('--id <id>', 'only the plant with this id; repeat it for up to 100', (id, ids: string[] = []) => [
          ...ids,
          id,
        ])
        .option('--limit <count>', 'only so many, the first in the order of ids, 1 to 100000', once)
        .option('--dry-run', 'count the plants and change nothing');
    if (action.method === 'PATCH') command.argument('<patch>', 'a JSON Merge Patch, such as \'{"tag": "Abies"}\'');
    addServiceOptions(command.option('--json', 'print the result as JSON')).action(async (...values) => {
      const patch = action.method === 'PATCH' ? String(values[0]) : undefined;
      await run({ command, action, patch, options: command.opts<CommandOptions>() }, settings);
    });
  };
  const schema = manyPlantsQuerySchema;
  const countOfPlants = { method: 'GET', path: '/plants/count', schema: plantCountQuerySchema, done: 'count' } as const;
  add('count', 'count all plants, or those that match', countOfPlants);
  add('delete', 'delete all plants that match', { method: 'DELETE', path: '/plants', schema, done: 'deleted' });
  add('patch', 'change all plants that match', { method: 'PATCH', path: '/plants', schema, done: 'updated' });
};

type Invocation = { command: Command; action: Action; patch: string | undefined; options: CommandOptions };

const run = async (invocation: Invocation, { config, environment }: CommandSettings) => {
  const { command, action, patch, options } = invocation;
  const { url, tokenFile, json, dryRun = false, ...filter } = options;
  const query = { ...filter, ...(dryRun && { dryRun: 'true' }) };
  const request = toRequest(invocation, query);
  const service = serviceOf(command, options, environment);
  const isChange = action.done !== 'count' && !dryRun;
  // The first Ctrl-C does not end a statement, which takes a few seconds at most, and whose outcome would not be known.
  const count = await interruptible((signal) =>
    service
      ? askService(service, { action, query, patch, signal, isChange })
      : askDatabase(config(), (plants) => plants[isChange ? 'changeMany' : 'count'](request, () => false)),
  );
  const text =
    action.done === 'count' ? String(count) : `${dryRun ? 'Dry run: ' : ''}${formatCount(count)} ${action.done}`;
  await print(json ? `${JSON.stringify({ [action.done]: count })}\n` : `${text}\n`).catch((error) => {
    // What is changed is changed, whether or not it could be printed.
    if (isChange) note(`${text}.`);
    throw error;
  });
};

/** Wrong options are a usage error, for which nothing is done. */
const toRequest = ({ command, action, patch }: Invocation, query: object): ManyRequest => {
  try {
    const values = parseParameters<z.ZodObject>(action.schema, query);
    const { tag, q, id, limit } = values as z.output<typeof manyPlantsQuerySchema>;
    const filter = { tag, q, id };
    if (patch === undefined) return { filter, limit };
    return { filter, limit, change: parseBody(plantPatchSchema, parseJsonText(patch, 'The patch'), 'The patch') };
  } catch (error) {
    if (error instanceof StoreError) return command.error(`error: ${error.message}`);
    throw error;
  }
};

type ServiceQuestion = Pick<Invocation, 'action' | 'patch'> & {
  query: object;
  signal: AbortSignal;
  isChange: boolean;
};

const askService = async (
  service: RemoteService,
  { action, query, patch, signal, isChange }: ServiceQuestion,
): Promise<number> => {
  const { method, path, done } = action;
  try {
    const response = await send(service, {
      method,
      path,
      query,
      signal,
      ...(patch !== undefined && {
        headers: { 'Content-Type': 'application/merge-patch+json' },
        body: () => [Buffer.from(patch)],
      }),
    });
    const result = await readResult(response, service, z.object({ [done]: z.int().min(0) }));
    return result[done] as number;
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const reason = signal.aborted ? 'Interrupted.' : error.message;
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
