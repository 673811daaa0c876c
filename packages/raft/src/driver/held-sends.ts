/** Messages that reveal what is not durable yet: each leaves once the write that it names is done, in the order of the core. */

import type { Message, ServerId, WriteSeq } from '../core/index.ts';

interface HeldSend {
  readonly to: ServerId;
  readonly message: Message;
  readonly after: WriteSeq;
}

export class HeldSends {
  readonly #send: (to: ServerId, message: Message) => void;
  #held: HeldSend[] = [];
  #persistedSeq: WriteSeq | undefined;

  constructor(send: (to: ServerId, message: Message) => void) {
    this.#send = send;
  }

  /** At least until the next `release`, even when that write is durable. */
  hold(to: ServerId, message: Message, after: WriteSeq): void {
    this.#held.push({ to, message, after });
  }

  /** The write of that number and all before it are durable. */
  persisted(seq: WriteSeq): void {
    this.#persistedSeq = seq;
    this.release();
  }

  /** What reveals a write that is now durable. */
  release(): void {
    const durable = this.#persistedSeq;
    if (durable === undefined || this.#held.length === 0) return;
    const held = this.#held;
    this.#held = held.filter((send) => send.after > durable);
    for (const send of held) if (send.after <= durable) this.#send(send.to, send.message);
  }
}
