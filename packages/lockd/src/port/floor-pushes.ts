/**
 * Tells those who share a lock that the lowest token of all has risen, or their own. With many holders every release may raise it, so it is
 * told so often a second at most, and what is told is how it is then: a floor that was passed meanwhile says nothing.
 */

import type { Entry } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import type { Output, StateMachine } from '@holdfast/state';
import { FLOOR_PUSH_MS } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { SessionClients } from './session-clients.ts';

export interface FloorPushesDeps {
  readonly clock: Clock;
  readonly state: Pick<StateMachine, 'holders' | 'appliedIndex'>;
  readonly clients: Pick<SessionClients, 'bySession'>;
}

export class FloorPushes implements ServerPart {
  readonly #deps: FloorPushesDeps;
  /** Whose floor has risen since it was told. */
  readonly #risen = new Set<string>();
  #timer: Timer | undefined;

  constructor(deps: FloorPushesDeps) {
    this.#deps = deps;
  }

  applied(_entry: Entry, outputs: readonly Output[]): void {
    for (const output of outputs) {
      if (output.type !== 'floorRaised') continue;
      this.#risen.add(output.lock);
      this.#timer ??= this.#deps.clock.setTimer(FLOOR_PUSH_MS, () => this.#push());
    }
  }

  fail(): void {
    this.stop();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#risen.clear();
  }

  #push(): void {
    this.#timer = undefined;
    const { state, clients } = this.#deps;
    const index = state.appliedIndex;
    for (const lock of this.#risen) {
      const holders = state.holders(lock);
      const floor = holders[0]?.token ?? 0;
      for (const { session, acquireIndex, token } of holders) {
        clients.bySession(session)?.send({ type: 'shared-hold', index, lock, acquireIndex, token, floor });
      }
    }
    this.#risen.clear();
  }
}
