/** The command `jepsen`: parses its arguments and hands over to the command's own module. */

import { Command, CommanderError } from 'commander';

/** Each is loaded when it is asked for: all of them together take a second. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import('./campaigns/live/command.ts')).runCommand(),
  list: async () => (await import('./campaigns/live/command.ts')).listCommand(),
  sim: async () => (await import('./campaigns/command.ts')).simCommand(),
  replay: async () => (await import('./campaigns/command.ts')).replayCommand(),
  report: async () => (await import('./campaigns/report-command.ts')).reportCommand(),
  mutants: async () => (await import('./mutants/command.ts')).mutantsCommand(),
  explore: async () => (await import('./explore/command.ts')).exploreCommand(),
  check: async () => (await import('./check/command.ts')).checkCommand(),
  resource: async () => (await import('./resource/command.ts')).resourceCommand(),
};
const USAGE_EXIT_CODE = 2;
/** Of commands whose 2 means that a verdict is unknown. */
const OTHER_USAGE_EXIT_CODE = 3;
const WITH_UNKNOWN_VERDICTS = new Set(['check', 'resource', 'run']);

const program = new Command('jepsen').description('runs Holdfast under faults and judges what it did').exitOverride();
const [, , asked = ''] = process.argv;
const one = Object.hasOwn(COMMANDS, asked) ? COMMANDS[asked] : undefined;
for (const load of one === undefined ? Object.values(COMMANDS) : [one]) {
  const command = await load();
  program.addCommand(command.copyInheritedSettings(program));
}

try {
  await program.parseAsync();
} catch (error) {
  // Commander has said what is wrong; help and version end with 0.
  if (!(error instanceof CommanderError)) throw error;
  const usage = WITH_UNKNOWN_VERDICTS.has(asked) ? OTHER_USAGE_EXIT_CODE : USAGE_EXIT_CODE;
  process.exitCode = error.exitCode === 0 ? 0 : usage;
}
