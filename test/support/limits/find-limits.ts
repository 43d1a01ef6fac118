import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { runInNewContext } from 'node:vm';
import { readConfig, variableNames } from '../../../src/config/config.ts';
import { limitRequests } from '../../../src/request-limits.ts';

/** A constant of a module. */
const CONSTANT = /^(?:export )?const (\w+)(?:: \w+)? = ([^;]+);/gm;
/** What a number can be computed from, once the names of other constants are removed. */
const NUMERIC = /^(?=.*\d)[\d\s_.eEn+*/()-]+$/;
const MEMBERS = /^\{([^{}]+)\}(?: as const)?$/;
/** The upper bound of a repetition in a regular expression. Short ones are the digits of numbers. */
const REPETITION = /\{\d*,(\d{2,})\}/g;
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/[^\n]*$/gm;

/** A limit that PostgreSQL checks. */
const CHECK = /CONSTRAINT "(\w+)" CHECK \(.* <= (\d+)\)/g;

const isInSource = (file: string) => !file.endsWith('.test.ts') && !file.includes('generated');

/** The numbers in the source of a module, by name, such as `MAX_IDS`, `LINGER_TIMES.idle` or `{1,128}`. */
const numbersIn = (source: string): Map<string, number | bigint> => {
  const found = new Map<string, number | bigint>();
  const add = (name: string, expression: string) => {
    const known = [...found].filter(([other]) => new RegExp(`\\b${other}\\b`).test(expression));
    const rest = known.reduce((text, [other]) => text.replaceAll(other, ''), expression);
    // A single constant that is another one's value is not a limit of its own.
    if (NUMERIC.test(rest)) found.set(name, runInNewContext(expression, Object.fromEntries(known)));
  };
  for (const [, name = '', expression = ''] of source.matchAll(CONSTANT)) {
    const [, members] = MEMBERS.exec(expression.trim()) ?? [];
    if (members === undefined) add(name, expression);
    else
      for (const member of members.split(','))
        add(`${name}.${member.split(':')[0]?.trim()}`, member.split(':')[1] ?? '');
  }
  for (const [text, bound] of source.matchAll(REPETITION)) found.set(text, Number(bound));
  return found;
};

/** The members of the limits of requests, whose values follow from the settings: one name for those that several queues have. */
const requestLimits = (): Map<string, number> => {
  const found = new Map<string, number>();
  for (const [name, value] of Object.entries(limitRequests(readConfig({})))) {
    if (typeof value === 'number') found.set(name, value);
    else
      for (const [member, part] of Object.entries(value))
        if (part !== undefined) found.set('batches' in value ? member : `${name}.${member}`, part);
  }
  return found;
};

/** What a variable must be, in the words of its error; empty if it may be anything. */
const describeVariable = (name: string): string => {
  try {
    readConfig({ DATABASE_URL: 'postgresql://host', [name]: '\0' });
    return '';
  } catch (error) {
    return (error as Error).message.split('\n').find((line) => line.startsWith(`${name} is `)) ?? '';
  }
};

/**
 * Every limit and time of the service, by name: `folder/file.ts CONSTANT` under src/, `RequestLimits member`, `sql constraint`, and
 * `setting NAME` for a variable with a range, whose value is its description.
 */
export const findLimits = (): Map<string, number | bigint | string> => {
  const constants = globSync('src/**/*.ts')
    .filter(isInSource)
    .sort()
    .flatMap((file) =>
      [...numbersIn(readFileSync(file, 'utf8').replace(COMMENT, ''))].map(
        ([name, value]) => [`${relative('src', file)} ${name}`, value] as const,
      ),
    );
  const settings = variableNames
    .map((name) => [`setting ${name}`, describeVariable(name)] as const)
    .filter(([, description]) => /\b\d\w* to \d/.test(description));
  const checks = globSync('prisma/migrations/*/*.sql').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(CHECK)].map(([, name, bound]) => [`sql ${name}`, Number(bound)] as const),
  );
  return new Map<string, number | bigint | string>([
    ...constants,
    ...checks,
    ...[...requestLimits()].map(([name, value]) => [`RequestLimits ${name}`, value] as const),
    ...settings,
  ]);
};
