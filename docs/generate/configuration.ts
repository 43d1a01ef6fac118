import { readFileSync } from 'node:fs';
import { defaultOf, expected, type VariableName, variableNames } from '../../src/config/config.ts';
import { code, heading, list, renderPage, table } from './markdown.ts';
import { composeVariables, groups, type Meaning, otherVariables } from './settings.ts';

const described = Object.values(groups).flatMap((group) => Object.keys(group));
const wrong = variableNames.filter((name) => described.filter((other) => other === name).length !== 1);
if (wrong.length > 0) throw new Error(`docs/generate/settings.ts must describe once: ${wrong.join(', ')}`);

const entriesOf = (group: (typeof groups)[string]) => Object.entries(group) as [VariableName, Meaning][];

/** What a value must be. The page says once what a duration is, and how a URL of PostgreSQL is written. */
export const valueOfSetting = (name: VariableName): string | undefined =>
  expected(name)
    ?.replace(/: a number of seconds, .*$/, '')
    .replace(name === 'DIRECT_URL' ? /\. In the user .*$/ : '', '');

/** docker-compose.yml's own variables, with their defaults. */
const composeDefaults = new Map(
  [...readFileSync('docker-compose.yml', 'utf8').matchAll(/\$\{(\w+):-([^}]+)\}/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
);
const known = [...variableNames, ...Object.keys(composeVariables)] as string[];
const unknown = [...composeDefaults.keys()].filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`docs/generate/settings.ts lacks ${unknown.join(', ')} of docker-compose.yml`);

/** What the image sets in the environment. */
const imageSettings = [...readFileSync('Dockerfile', 'utf8').matchAll(/^ENV (.* METRICS_PORT=.*)$/gm)]
  .flatMap(([, pairs = '']) => pairs.split(' '))
  .filter((pair) => known.includes(pair.replace(/=.*/, '')));

const INTRODUCTION = `Set environment variables, or copy [.env.example](../../.env.example) to \`.env\` and uncomment what you change. Environment variables
override \`.env\`, and an empty one counts as not set. If a value is invalid, the service does not start, and lists every wrong variable.

\`plant-store config\` prints every setting with its value, and where it comes from.

A duration has a unit (\`500ms\`, \`3s\`, \`5m\`, \`24h\`, \`7d\`). A number alone means seconds.

The image of the service sets ${imageSettings.map(code).join(', ')}.`;

/** Names of pages as links from docs/reference/. */
const linkPages = (text: string) =>
  text.replace(
    /\bdocs\/([\w-]+\/([\w-]+)\.md)/g,
    (_path, path, name) => `[${name.replace(/^\d+-/, '').replaceAll('-', ' ')}](../${path})`,
  );

const renderSetting = ([name, { meaning, notes }]: [VariableName, Meaning]) => {
  const fallback = defaultOf(name);
  const value = valueOfSetting(name);
  const facts = [`Default: ${fallback ? code(fallback) : 'not set'}.`, ...(value ? [`Value: ${value}.`] : [])];
  const parts = [heading(3, name, code(name)), meaning, ...(notes ? [list(notes)] : []), facts.join(' ')];
  return parts.map(linkPages).join('\n\n');
};

/** The first sentence of a meaning. */
const summaryOf = ({ meaning }: Meaning) => /^.*?[^A-Z]\.(?=\s|$)/.exec(meaning)?.[0].replace(/\.$/, '') ?? meaning;

export const renderConfiguration = (): string =>
  renderPage(
    'Configuration',
    'src/config/config.ts and docs/generate/settings.ts',
    INTRODUCTION,
    ...Object.entries(groups).flatMap(([group, settings]) => [
      `## ${group}`,
      table(
        ['variable', 'default', 'meaning'],
        entriesOf(settings).map(([name, setting]) => [
          `[${code(name)}](#${name})`,
          defaultOf(name) && code(defaultOf(name)),
          summaryOf(setting),
        ]),
      ),
      ...entriesOf(settings).map(renderSetting),
    ]),
    ...Object.entries(otherVariables).flatMap(([group, variables]) => [
      `## ${group}`,
      table(
        ['variable', 'meaning'],
        variables.map(([names, meaning]) => [names.split(', ').map(code).join(', '), meaning]),
      ),
    ]),
    '## Docker Compose',
    'Only `docker-compose.yml` reads these.',
    table(
      ['variable', 'default', 'meaning'],
      Object.entries(composeVariables).map(([name, meaning]) => [code(name), code(composeDefault(name)), meaning]),
    ),
  );

/** @throws {Error} docker-compose.yml has no such variable */
const composeDefault = (name: string): string => {
  const value = composeDefaults.get(name);
  if (value === undefined) throw new Error(`docker-compose.yml has no variable ${name}`);
  return value;
};

const WIDTH = 118;

/** Text as lines of comments, without Markdown. */
const comment = (text: string, first = '# ', rest = first): string => {
  const lines = [''];
  for (const word of text.replaceAll('`', '').split(' ')) {
    const line = lines.at(-1) as string;
    if (line && line.length + word.length + rest.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines.map((line, index) => `${index === 0 ? first : rest}${line}`).join('\n');
};

const ENV_INTRODUCTION =
  'Every setting with its default. Copy this file to .env and uncomment what you change. Environment variables override .env. ' +
  'If a value is invalid, the service does not start and lists every wrong variable. Durations have a unit (500ms, 3s, 5m, 24h, ' +
  '7d); a number alone means seconds. Made by npm run generate, and not to be changed by hand; docs/reference/configuration.md ' +
  'has the same.';

export const renderEnvExample = (): string => {
  const renderVariable = ([name, { meaning, notes = [] }]: [VariableName, Meaning]) => {
    const value = valueOfSetting(name);
    return [
      comment(meaning),
      ...notes.map((note) => comment(note, '# - ', '#   ')),
      ...(value ? [comment(`Value: ${value}.`)] : []),
      `#${name}=${defaultOf(name)}`,
    ].join('\n');
  };
  const compose = Object.entries(composeVariables).map(
    ([name, meaning]) => `${comment(meaning)}\n#${name}=${composeDefault(name)}`,
  );
  return `${[
    comment(ENV_INTRODUCTION),
    ...Object.entries(groups).flatMap(([group, settings]) => [
      `# --- ${group}`,
      ...entriesOf(settings).map(renderVariable),
    ]),
    '# --- Only docker-compose.yml reads these',
    ...compose,
  ].join('\n\n')}\n`;
};
