/** The command `jepsen`: parses its arguments and hands over to the command's own module. */

import { Command, CommanderError } from 'commander';

import { CHECK_USAGE_EXIT_CODE, checkCommand } from './check/command.ts';
import { exploreCommand } from './explore/command.ts';
import { mutantsCommand } from './mutants/command.ts';
import { replayCommand, simCommand } from './campaigns/command.ts';
import { reportCommand } from './campaigns/report-command.ts';
import { RESOURCE_USAGE_EXIT_CODE, resourceCommand } from './resource/command.ts';
import { listCommand, runCommand } from './campaigns/live/command.ts';
import { USAGE_EXIT_CODE as RUN_USAGE_EXIT_CODE } from './campaigns/live/result.ts';

const USAGE_EXIT_CODE = 2;
/** Of commands whose 2 means that a verdict is unknown. */
const USAGE_EXIT_CODES: Readonly<Record<string, number>> = {
  check: CHECK_USAGE_EXIT_CODE,
  resource: RESOURCE_USAGE_EXIT_CODE,
  run: RUN_USAGE_EXIT_CODE,
};

const program = new Command('jepsen').description('runs Holdfast under faults and judges what it did').exitOverride();
const commands = [
  runCommand(),
  listCommand(),
  simCommand(),
  replayCommand(),
  reportCommand(),
  mutantsCommand(),
  exploreCommand(),
  checkCommand(),
  resourceCommand(),
];
for (const command of commands) {
  program.addCommand(command.copyInheritedSettings(program));
}

try {
  await program.parseAsync();
} catch (error) {
  // Commander has said what is wrong; help and version end with 0.
  if (!(error instanceof CommanderError)) throw error;
  const usage = USAGE_EXIT_CODES[process.argv[2] ?? ''] ?? USAGE_EXIT_CODE;
  process.exitCode = error.exitCode === 0 ? 0 : usage;
}
