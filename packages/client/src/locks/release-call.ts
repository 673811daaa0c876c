/** The release of one hold on its way: a call and its promise's two ends, since every cycle of a lock makes one. */

import type { Reply } from '@holdfast/protocol';
import { Question, type Channel } from '../session/call.ts';
import { encoded, type EncodedCommand, type RequestCall } from '../session/channels/request-pipeline.ts';
import type { HeldLock } from './held-lock.ts';
import { locksText } from './waits/lock-wait.ts';

export interface ReleaseEnds {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** What the release rejects with that has failed with `error`. */
export type ReleaseFailed = (held: HeldLock, error: unknown) => unknown;

const NO_OPTIONS = {};

export class ReleaseCall extends Question<EncodedCommand, Reply> {
  readonly #held: HeldLock;
  readonly #ends: ReleaseEnds;
  readonly #failed: ReleaseFailed;

  constructor(channel: Channel<RequestCall>, held: HeldLock, ends: ReleaseEnds, failed: ReleaseFailed) {
    const { lock, acquireIndex } = held;
    super(channel, encoded({ type: 'release', lock, acquireIndex }), NO_OPTIONS);
    this.#held = held;
    this.#ends = ends;
    this.#failed = failed;
  }

  protected get what(): string {
    return callText('release', this.#held);
  }

  protected resolve(): void {
    this.#ends.resolve();
  }

  protected reject(reason: unknown): void {
    this.#ends.reject(this.#failed(this.#held, reason));
  }
}

/** Names a call about a hold in messages. */
export function callText(what: string, { lock, locks }: HeldLock): string {
  return `${what} ${locks.length === 1 ? `"${lock}"` : locksText(locks)}`;
}
