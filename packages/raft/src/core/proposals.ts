/** Commands on their way into a leader's log. */

import type { CoreState } from './core-state.ts';
import { ENTRY_OVERHEAD_BYTES, EntryType, nextIndex } from './types.ts';

/** As leader. In order: what does not fit is refused with all that comes behind it. */
export function appendProposals(core: CoreState, commands: readonly Uint8Array[]): void {
  let position = 0;
  for (const data of commands) {
    const bytes = data.length + ENTRY_OVERHEAD_BYTES;
    if (core.uncommittedBytes > 0 && core.uncommittedBytes + bytes > core.config.maxUncommittedBytes) {
      core.effect({ type: 'proposals-rejected', commands: commands.slice(position), reason: 'overloaded' });
      return;
    }
    core.uncommittedBytes += bytes;
    core.appendEntry({ index: nextIndex(core.log.lastIndex), term: core.term, type: EntryType.command, data });
    position += 1;
  }
}
