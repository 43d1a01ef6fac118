import type { Argument, Command, Option } from 'commander';
import { createProgram } from '../../src/commands/program.ts';
import { code, codeBlock, heading, list, renderPage, table } from './markdown.ts';

/** What the help leaves out, by command. */
const notes: Record<string, string[]> = {
  serve: [
    'Without `DATABASE_URL` it starts the embedded PostgreSQL, migrates it, and creates an access token for this machine.',
    'SIGTERM, SIGINT or SIGHUP ends it: requests in progress get their responses, and the exit code is 0. It exits at once with code 1 after a second signal, at least a second later, and when `SHUTDOWN_DELAY` plus `SHUTDOWN_TIMEOUT` have passed.',
  ],
  migrate: ['Run it once for each release, before its instances start. Concurrent migrations are safe.'],
  config: [
    'A line is `NAME=value  # source`. The source is `default`, `environment` or `.env`.',
    'If a setting is wrong, it prints what is wrong with it, and exits with 1.',
  ],
  import: [
    'The name of a file determines its format: `.ndjson`, `.csv` or `.json`, with `.gz` if it is compressed.',
    'Exit code 1 also means that a row failed, or that a file has no rows. See [import and export](import-and-export.md).',
    'After Ctrl-C nothing of the current file is stored, unless [a service](../how-to/use-a-remote-service.md) was storing it.',
  ],
  export: [
    'The name of the file determines its format: `.ndjson` or `.csv`, with `.gz` if it is to be compressed.',
    'An export that is interrupted leaves the file as it was.',
  ],
  count: ['With `--url` it asks a service: see [use a remote service](../how-to/use-a-remote-service.md).'],
  delete: ['At least one of `--tag`, `--q` and `--id` is required. Try it with `--dry-run`.'],
  patch: ['At least one of `--tag`, `--q` and `--id` is required. Plants that would not change do not count.'],
  'search-index': ['See [search by name](../how-to/search-by-name.md).'],
  token: [
    'These commands need the database, but not the service. If `DATABASE_URL` is set, migrate that database first.',
    'See [authentication](authentication.md).',
  ],
};

const INTRODUCTION = `In the top folder of a clone, run \`npx plant-store\`; in the image, \`plant-store\` is the command. On other machines,
[install it](../how-to/install-the-command-line.md): there, npx would look for a package of that name in the registry, which anybody could have
put there. The commands read the same [settings](configuration.md) as the service, from the environment and \`.env\`, and work on the same
database. With \`--url\` some of them work with [a service elsewhere](../how-to/use-a-remote-service.md).`;

const EXIT_CODES = list([
  '`0`: success.',
  '`1`: failure. Standard error says why, in one or two lines.',
  '`2`: usage error, such as an unknown option. Nothing was done.',
]);

const nameOf = (command: Command): string => {
  const names = [];
  for (let one: Command | null = command; one?.parent; one = one.parent) names.unshift(one.name());
  return names.join(' ');
};

const describeArgument = (argument: Argument) => [code(`<${argument.name()}>`), argument.description, ''];

const describeOption = ({ flags, description, argChoices, defaultValue, mandatory }: Option) => {
  const [, text = description, inWords = mandatory ? 'required' : ''] =
    /^(.*) \(default: (.*)\)$/.exec(description) ?? [];
  const choices = argChoices ? `: ${argChoices.map(code).join(', ')}` : '';
  return [code(flags), `${text}${choices}`, inWords || [defaultValue ?? []].flat().map(code).join(' ')];
};

const renderCommand = (command: Command): string[] => {
  const name = nameOf(command);
  const { commands, registeredArguments, options } = command;
  const listed = [
    ...registeredArguments.filter(({ description }) => description).map(describeArgument),
    ...options.map(describeOption),
  ];
  const more = notes[name] ?? [];
  const description = command.description();
  return [
    heading(commands.length > 0 || !name.includes(' ') ? 2 : 3, name.replace(' ', '-'), code(`plant-store ${name}`)),
    `${description.charAt(0).toUpperCase()}${description.slice(1)}.`,
    ...(commands.length > 0 ? [] : [codeBlock('', `plant-store ${name} ${usageOf(command)}`)]),
    ...(listed.length > 0 ? [table(['option', 'meaning', 'default'], listed)] : []),
    ...(more.length > 0 ? [list(more)] : []),
    ...commands.flatMap(renderCommand),
  ];
};

/** The options and arguments of a synopsis. Every command has --help, which is not shown. */
const usageOf = ({ options, registeredArguments }: Command): string => {
  const words = options.map(({ flags, mandatory }) => (mandatory ? flags : `[${flags}]`));
  const files = registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [...words, ...files].join(' ');
};

export const renderCommandLine = (): string => {
  const program = createProgram({ environment: {}, fromFile: [], writeOut: () => {} });
  return renderPage(
    'Command line',
    'src/commands/',
    INTRODUCTION,
    'Each command also has `--help`. `plant-store --version` prints the version.',
    '## Exit codes',
    EXIT_CODES,
    ...program.commands.flatMap(renderCommand),
  );
};
