/** Flags, environment variables and defaults of the programs, from the command lines that they read. */

import { buildProgram as fencedKvd } from '../../packages/fenced-kv/dist/daemon/program.js';
import { buildProgram as lockctl } from '../../packages/lockctl/dist/program.js';
import { NAMES, commandLine as lockd, variableOf } from '../../packages/lockd/dist/settings/command-line.js';
import { code, page, table } from './markdown.mjs';

const INTRO = `What \`--help\` says. Where several say the same thing: a flag wins over the environment, and that over a \`--config\` file.`;
const DEFAULT = / \(default: ([^)]*)\)/;
const VARIABLE = / \(or (HOLDFAST_\w+)\)/;
const OWN_HELP = ['--version', '--help'];

export const settingsPage = {
  file: 'settings.md',
  render() {
    const nothing = () => {};
    return page(
      'Settings',
      INTRO,
      ...sections(lockd(nothing, nothing), (name) =>
        NAMES.includes(name) || name === 'config' ? variableOf(name) : '',
      ),
      ...sections(fencedKvd({})),
      ...sections(lockctl({}, {})),
    );
  },
};

function sections(command, variable = () => '', path = command.name(), level = '##') {
  const usage = [path, ...command.registeredArguments.map(written)].join(' ');
  const own = [`${level} ${path}`, `${code(usage)}: ${command.description()}`];
  const options = command.options.filter(({ long }) => !OWN_HELP.includes(long) || level !== '##');
  if (options.length > 0) own.push(optionsTable(options, variable));
  // What a command of lockd for a data directory takes is not read from the environment.
  const inner = command.commands.flatMap((each) => sections(each, undefined, `${path} ${each.name()}`, '###'));
  return [...own, ...inner];
}

function written(argument) {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionsTable(options, variable) {
  const rows = options.map((option) => {
    const { flags, description, long } = option;
    const environment = VARIABLE.exec(description)?.[1] ?? variable(long.slice(2));
    const meaning = description.replace(DEFAULT, '').replace(VARIABLE, '');
    const choices = option.argChoices === undefined ? '' : `: ${option.argChoices.join(', ')}`;
    return [code(flags), environment === '' ? '' : code(environment), defaultOf(option), meaning + choices];
  });
  const columns = [0, 1, 2, 3].filter((column) => rows.some((row) => row[column] !== ''));
  const picked = (row) => columns.map((column) => row[column]);
  return table(picked(['flag', 'environment', 'default', 'meaning']), rows.map(picked));
}

function defaultOf({ description, defaultValue, defaultValueDescription }) {
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  if (defaultValue !== undefined && defaultValue !== false) return code(String(defaultValue));
  return DEFAULT.exec(description)?.[1] ?? '';
}
