/**
 * Marks of nodes that go by themselves, where somebody else comes in between: another leader at the end of a time to live, and a client
 * between the proposal of a removal and its entry.
 */

import { CommandType, decodeCommand } from '@holdfast/protocol';
import { EntryType, type Entry } from '@holdfast/raft';
import { entryCommand, entryPayload, type StateMachine } from '@holdfast/state';
import type { Hit, Recogniser } from './mark.ts';

export class UnusedNodeMarks implements Recogniser {
  readonly #hit: Hit;
  #lastApplied = 0;

  constructor(hit: Hit) {
    this.#hit = hit;
  }

  /** Each entry is looked at once, by whichever server applies it first. */
  applied({ type, index, data }: Entry, state: StateMachine): void {
    if (index <= this.#lastApplied) return;
    this.#lastApplied = index;
    if (type === EntryType.noop) {
      if (hasDue(state)) this.#hit('ttl-due-at-an-election');
    } else if (type === EntryType.command && entryCommand(data) === CommandType.removeUnused) {
      if (hasRefilled(state, data)) this.#hit('container-refilled-before-removal');
    }
  }
}

/** By what the log tells of time: the one who led before has not come to remove it. */
function hasDue(state: StateMachine): boolean {
  for (const slot of state.withLifetime()) {
    const { ttlMs, mtime = 0, children = 0 } = state.limitedNode(slot) ?? {};
    if (ttlMs !== undefined && children === 0 && mtime + ttlMs <= state.stamp) return true;
  }
  return false;
}

function hasRefilled(state: StateMachine, data: Uint8Array): boolean {
  const command = decodeCommand('removeUnused', entryPayload(data));
  if (command.type !== 'removeUnused') return false;
  return command.nodes.some(({ path, czxid }) => {
    const answer = state.query({ type: 'exists', path });
    // One that is still there was given a child, or is another one.
    return answer.type === 'exists' && answer.stat?.czxid === czxid && answer.stat.numChildren > 0;
  });
}
