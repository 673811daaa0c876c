/** `lockd lift-vote-ban`: lets a server vote that has lost acknowledged log, on an operator's word. */

import { DamagedLogError, liftVoteBan, type LogPosition, type Term } from '@holdfast/raft';
import type { Disk, Logger } from '@holdfast/runtime';
import { inspectDataDirectory } from './inspect.ts';
import { ACCEPT_LOSS } from './offline-commands.ts';
import { UsageError } from '../settings/settings.ts';

/**
 * What was done, for the operator.
 * @throws UsageError with what may be lost, when that was not accepted; and what opening the directory throws
 */
export async function liftVoteBanOffline(
  { data, acceptLoss }: { readonly data: string; readonly acceptLoss: boolean },
  world: { readonly disk: Disk; readonly logger: Logger },
): Promise<string> {
  const { identity, voteBan, lastIndex, lastTerm, damage } = await inspectDataDirectory(data, world.disk);
  const { serverId } = identity;
  if (damage !== undefined) throw new DamagedLogError(damage.file, damage.offset, damage.reason);
  if (voteBan === undefined) return `server ${serverId} may vote: there is no ban to lift\n`;
  if (!acceptLoss) {
    const last = { index: lastIndex, term: lastTerm };
    throw new UsageError(refusal(serverId, voteBan, last));
  }
  const lifted = await liftVoteBan(data, world);
  if (lifted === undefined) return `server ${serverId} may vote: there is no ban to lift\n`;
  const { ban, last } = lifted;
  return [
    `lifted: server ${serverId} votes from term ${ban} on, with a log that ends at index ${last.index} of term ${last.term}`,
    'acknowledged commands behind that are lost unless another server has them, and their tokens may be given out again',
    '',
  ].join('\n');
}

function refusal(server: number, ban: Term, { index, term }: LogPosition): string {
  return [
    `server ${server} has lost log that it had acknowledged, and may not vote since term ${ban}.`,
    `What is left ends at index ${index} of term ${term}; acknowledged commands may have come behind it.`,
    'With its vote servers may elect a leader without them: then they are lost, and their tokens are given out a second time,',
    'so that resources can no longer distinguish the old holder from the new one.',
    'Start the other servers first: a majority of them ends the ban by itself, and nothing is lost.',
    'Where too few are left, lockd recover begins a new cluster, whose tokens are higher than all old ones.',
    `To lift the ban all the same, add ${ACCEPT_LOSS}; nothing was changed`,
  ].join('\n');
}
