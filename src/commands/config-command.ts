import type { Command } from 'commander';
import { defaultOf, readConfig, variableNames } from '../config/config.ts';
import { print } from './output.ts';

/** The environment, and the names of the variables in it that .env sets. */
export type Settings = { environment: NodeJS.ProcessEnv; fromFile: readonly string[] };

export const addConfigCommand = (program: Command, { environment, fromFile }: Settings): void => {
  program
    .command('config')
    .description('print every setting, and whether it is a default or from the environment or .env; hides passwords')
    .action(() => {
      readConfig(environment);
      const lines = variableNames.map((name) => {
        const { [name]: value } = environment;
        const source = fromFile.includes(name) ? '.env' : 'environment';
        return `${name}=${onOneLine(hideSecrets(value || defaultOf(name)))}  # ${value ? source : 'default'}\n`;
      });
      return print(lines.join(''));
    });
};

/** The parameters of a URL whose values are shown. Others may be keys. */
const SHOWN = 'schema|pgbouncer|sslmode|sslrootcert|sslcert|sslkey|host|port|user|options|application_name';

const hideSecrets = (text: string) =>
  text
    .replace(/(https?:\/\/|:\/\/[^/?#@:]*:)[^/?#@]*(?=@)/i, '$1***')
    .replace(new RegExp(`([?&](?!(?:${SHOWN})=)[^=&]*=)[^&]*`, 'g'), '$1***');

const onOneLine = (text: string) => (/^[^\s#"]*$/.test(text) ? text : JSON.stringify(text));
