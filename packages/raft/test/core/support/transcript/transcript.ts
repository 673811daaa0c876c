/**
 * A transcript is a text: a line is a comment (`#`), empty, a command, or, indented, what the command led to. `servers 3` comes first,
 * `servers 2 and 1 spare` has one that is a member of nothing yet, `servers 5, one entry an append` sends each entry by itself. `quietly COMMAND` says only what became of the servers.
 */

import { COMMANDS } from './commands.ts';
import { TranscriptEnsemble } from './ensemble.ts';

const INDENT = '    ';

/** The same comments and commands, each followed by what the real core does. @throws SyntaxError, with the line, for what is no command */
export function transcribe(text: string): string {
  let ensemble: TranscriptEnsemble | undefined;
  const lines: string[] = [];
  for (const [at, line] of text.trimEnd().split('\n').entries()) {
    if (line.startsWith(INDENT)) continue;
    lines.push(line);
    if (line === '' || line.startsWith('#')) continue;
    try {
      const begun = begin(line);
      if (begun === undefined) lines.push(...obey(ensemble, line).map((said) => `${INDENT}${said}`));
      else if (ensemble === undefined) ensemble = begun;
      else throw new RangeError('the servers are there already');
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new SyntaxError(`line ${at + 1}, "${line}": ${error.message}`, { cause: error });
    }
  }
  return `${lines.join('\n')}\n`;
}

function begin(line: string): TranscriptEnsemble | undefined {
  const words = /^servers (\d+)(?: and (\d+) spare)?(, one entry an append)?$/.exec(line);
  if (words === null) return undefined;
  const [, voters, spares = 0, split] = words;
  return new TranscriptEnsemble(Number(voters), Number(spares), split === undefined ? {} : { maxAppendBytes: 1 });
}

function obey(ensemble: TranscriptEnsemble | undefined, line: string): string[] {
  const quietly = line.startsWith('quietly ');
  const deed = quietly ? line.slice('quietly '.length) : line;
  for (const { pattern, run } of COMMANDS) {
    const words = pattern.exec(deed);
    if (words === null) continue;
    if (ensemble === undefined) throw new RangeError('say which servers there are first');
    run(ensemble, ...words.slice(1));
    const said = ensemble.report(quietly);
    return said.length === 0 && !quietly ? ['nothing follows'] : said;
  }
  throw new RangeError(`no such command; there are\n${COMMANDS.map(({ usage }) => `  ${usage}`).join('\n')}`);
}
