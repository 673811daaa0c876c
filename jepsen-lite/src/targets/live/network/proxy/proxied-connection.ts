/** A connection that leads over a proxy: two sockets, and a flow for each direction. */

import type { Socket } from 'node:net';
import { Flow } from './flow.ts';
import type { Link } from './link.ts';

export interface ProxiedOptions {
  readonly dialler: Socket;
  readonly listener: Socket;
  /** From who has dialled to whom, and back. */
  readonly there: Link;
  readonly back: Link;
  /** What has come with the line by which the dialler joined. */
  readonly first: Buffer;
}

export class ProxiedConnection {
  readonly #there: Flow;
  readonly #back: Flow;
  readonly #dialler: Socket;
  readonly #listener: Socket;
  readonly #link: Link;

  constructor({ dialler, listener, there, back, first }: ProxiedOptions) {
    this.#dialler = dialler;
    this.#listener = listener;
    this.#link = there;
    const broken = (): void => this.reset();
    this.#there = new Flow({ link: there, source: dialler, destination: listener, broken });
    this.#back = new Flow({ link: back, source: listener, destination: dialler, broken });
    if (first.length > 0) this.#there.take(first);
  }

  /** In both directions. */
  get waitingBytes(): number {
    return this.#there.waitingBytes + this.#back.waitingBytes;
  }

  /** Both ends hear of it at once; what was under way is lost. */
  reset(): void {
    if (!this.#dialler.destroyed || !this.#listener.destroyed) this.#link.count('connection-broken');
    for (const flow of [this.#there, this.#back]) flow.stop();
    for (const socket of [this.#dialler, this.#listener]) socket.resetAndDestroy();
  }

  /** Calls it when both ends are closed. */
  whenClosed(closed: () => void): void {
    let open = 2;
    for (const socket of [this.#dialler, this.#listener]) {
      const ended = (): void => {
        open -= 1;
        if (open === 0) closed();
      };
      if (socket.closed) ended();
      else socket.once('close', ended);
    }
  }
}
