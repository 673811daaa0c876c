/**
 * Transfers that were in vain: the log has forgotten what follows a snapshot before all of that had reached its peer, so that the peer needs
 * another one. While the log grows that fast the peer never catches up, which nobody sees at a server that otherwise works.
 */

import type { Clock, Logger } from '@holdfast/runtime';
import type { LogIndex, ServerId } from '../core/index.ts';
import { HELD_LOG_FACTOR, OVERTAKEN_WARNING_MS, type SnapshotOptions } from './snapshot-options.ts';

export class OvertakenTransfers {
  readonly #options: SnapshotOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** The index of the last one of each peer, and when it was logged. */
  readonly #known = new Map<ServerId, { index: LogIndex; loggedAtMs: number }>();

  constructor(options: SnapshotOptions, clock: Clock, logger: Logger) {
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The log is about to begin behind the snapshot of `index`, which is on its way to `peer`. False: that was known. */
  add(peer: ServerId, index: LogIndex): boolean {
    const known = this.#known.get(peer);
    if (known?.index === index) return false;
    const nowMs = this.#clock.monotonicMs();
    const isDue = known === undefined || nowMs - known.loggedAtMs >= OVERTAKEN_WARNING_MS;
    this.#known.set(peer, { index, loggedAtMs: isDue ? nowMs : known.loggedAtMs });
    if (isDue) this.#warn(peer, index);
    return true;
  }

  #warn(peer: ServerId, index: LogIndex): void {
    const { snapshotBytesPerSecond, snapshotLogBytes } = this.#options;
    const heldBytes = HELD_LOG_FACTOR * snapshotLogBytes;
    this.#logger.warn(
      { peer, index, heldBytes, snapshotBytesPerSecond },
      'a server cannot catch up: the log grew by all that is held for it before it had the snapshot, so that it needs another; ' +
        'raise --snapshot-bytes-per-second or --snapshot-log-bytes, or write less until it has caught up',
    );
  }
}
