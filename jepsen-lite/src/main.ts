/** The command `jepsen`: parses its arguments and hands over to the command's own module. */

import { Command, CommanderError } from 'commander';

import { CHECK_USAGE_EXIT_CODE, checkCommand } from './check/command.ts';
import { exploreCommand } from './explore/command.ts';
import { mutantsCommand } from './mutants/command.ts';
import { replayCommand, simCommand } from './campaigns/command.ts';

const USAGE_EXIT_CODE = 2;

const program = new Command('jepsen').description('runs Holdfast under faults and judges what it did').exitOverride();
for (const command of [simCommand(), replayCommand(), mutantsCommand(), exploreCommand(), checkCommand()]) {
  program.addCommand(command.copyInheritedSettings(program));
}

try {
  await program.parseAsync();
} catch (error) {
  // Commander has said what is wrong; help and version end with 0.
  if (!(error instanceof CommanderError)) throw error;
  const usage = process.argv[2] === 'check' ? CHECK_USAGE_EXIT_CODE : USAGE_EXIT_CODE;
  process.exitCode = error.exitCode === 0 ? 0 : usage;
}
