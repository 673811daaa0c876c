/** The command `jepsen`: parses its arguments and hands over to the command's own module. */

import { Command } from 'commander';

import { mutantsCommand } from './mutants/command.ts';
import { replayCommand, simCommand } from './sim/command.ts';

export function createProgram(): Command {
  return new Command('jepsen')
    .description('runs Holdfast under faults and judges what it did')
    .addCommand(simCommand())
    .addCommand(replayCommand())
    .addCommand(mutantsCommand());
}

await createProgram().parseAsync();
