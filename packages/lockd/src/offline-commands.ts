/**
 * The commands of lockd for a data directory whose server is not running, as they are typed. What may lose acknowledged commands has to
 * be allowed by a flag that says so; without it such a command only tells what it would do.
 */

import type { Command } from 'commander';
import { UsageError } from './settings.ts';

export type OfflineCommand =
  | { readonly type: 'inspect'; readonly data: string; readonly json: boolean }
  | { readonly type: 'lift-vote-ban'; readonly data: string; readonly acceptLoss: boolean };
export type OfflineCommandOf<Type extends OfflineCommand['type']> = Extract<OfflineCommand, { type: Type }>;

/** What allows it. */
export const ACCEPT_LOSS = '--accept-lost-commands';
const ACCEPT_LOSS_HELP = 'allow that acknowledged commands are lost';

interface Flags {
  readonly data?: string;
  readonly json?: boolean;
  readonly acceptLostCommands?: boolean;
}

export function addOfflineCommands(program: Command, found: (command: OfflineCommand) => void): void {
  program
    .command('inspect')
    .description('tell what a data directory holds, without changing it; the server must not be running')
    .option('--data <directory>', 'the data directory')
    .option('--json', 'print JSON')
    .action((_options: unknown, command: Command) => {
      const { json = false } = command.optsWithGlobals<Flags>();
      found({ type: 'inspect', data: dataOf(command), json });
    });
  program
    .command('lift-vote-ban')
    .description('let a server vote that has lost acknowledged log; the server must not be running')
    .option('--data <directory>', 'the data directory')
    .option(ACCEPT_LOSS, ACCEPT_LOSS_HELP)
    .action((_options: unknown, command: Command) => {
      const { acceptLostCommands: acceptLoss = false } = command.optsWithGlobals<Flags>();
      found({ type: 'lift-vote-ban', data: dataOf(command), acceptLoss });
    });
}

function dataOf(command: Command): string {
  const { data } = command.optsWithGlobals<Flags>();
  if (data === undefined) throw new UsageError(`${command.name()} needs --data <directory>`);
  return data;
}
