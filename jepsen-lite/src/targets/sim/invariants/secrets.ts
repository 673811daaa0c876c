/**
 * What a client draws to be its session's secret is in no entry of the log: whoever reads a log, a snapshot or a backup could attach in its
 * place. Judged from the bytes alone, wherever in an entry they are.
 */

import type { Entry } from '@holdfast/raft';
import type { Report } from '../../../checkers/violation.ts';

/** Shorter draws are no secrets, and might be found in an entry by chance. */
const LEAST_BYTES = 16;

export class SecretInvariants {
  readonly #report: Report;
  readonly #secrets: { readonly who: string; readonly bytes: Buffer }[] = [];
  #lastIndex = 0;

  constructor(report: Report) {
    this.#report = report;
  }

  /** A client has drawn random bytes. */
  drawn(who: string, bytes: Uint8Array): void {
    if (bytes.length >= LEAST_BYTES) this.#secrets.push({ who, bytes: Buffer.from(bytes) });
  }

  /** Each entry is looked at once, by whichever server applies it first. */
  applied({ index, data }: Entry): void {
    if (index <= this.#lastIndex) return;
    this.#lastIndex = index;
    const entry = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    for (const { who, bytes } of this.#secrets) {
      if (!entry.includes(bytes)) continue;
      this.#report('no-secret-is-in-the-log', `entry ${index} has the secret that ${who} has made`);
      return;
    }
  }
}
