/** Commands on their way into a leader's log. */

import type { CoreState } from '../core-state.ts';
import type { Leader } from '../roles/leader.ts';
import { ENTRY_OVERHEAD_BYTES, EntryType, nextIndex } from '../types.ts';

/** In order: what does not fit is refused with all that comes behind it. */
export function appendProposals(core: CoreState, leader: Leader, commands: readonly Uint8Array[]): void {
  let position = 0;
  for (const data of commands) {
    const bytes = data.length + ENTRY_OVERHEAD_BYTES;
    if (leader.uncommittedBytes > 0 && leader.uncommittedBytes + bytes > core.config.maxUncommittedBytes) {
      core.effect({ type: 'proposals-rejected', commands: commands.slice(position), reason: 'overloaded' });
      return;
    }
    leader.uncommittedBytes += bytes;
    core.appendEntry({ index: nextIndex(core.log.lastIndex), term: core.term, type: EntryType.command, data });
    position += 1;
  }
}
