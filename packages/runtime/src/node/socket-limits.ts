/**
 * How many sockets a listener has, in all and of one address, from the moment that they are accepted: before the upgrade a socket costs as
 * much as after it. One too many is closed at once.
 */

import type { Socket } from 'node:net';

import type { ListenerRefusal, ListenOptions } from '../network/network.ts';

export interface SocketLimitsDeps {
  refused(reason: ListenerRefusal, remoteAddress: string, problem: string): void;
}

type Limits = Pick<ListenOptions, 'maxSockets' | 'maxSocketsPerAddress' | 'maxSocketsPerLoopbackAddress'>;

export class SocketLimits {
  readonly #limits: Limits;
  readonly #deps: SocketLimitsDeps;
  readonly #perAddress = new Map<string, number>();
  #sockets = 0;

  constructor(limits: Limits, deps: SocketLimitsDeps) {
    this.#limits = limits;
    this.#deps = deps;
  }

  get sockets(): number {
    return this.#sockets;
  }

  accepted(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const { maxSockets = Infinity, maxSocketsPerAddress = Infinity } = this.#limits;
    const { maxSocketsPerLoopbackAddress = Infinity } = this.#limits;
    const perAddress = isLoopbackAddress(address) ? maxSocketsPerLoopbackAddress : maxSocketsPerAddress;
    const before = this.#perAddress.get(address) ?? 0;
    if (before >= perAddress) {
      const problem = `the address has ${before} connections already, as many as one may have`;
      this.#refuse(socket, 'too-many-of-address', problem);
    } else if (this.#sockets >= maxSockets) {
      this.#refuse(socket, 'too-many-sockets', `there are ${this.#sockets} connections already, as many as may be`);
    } else {
      this.#sockets += 1;
      this.#perAddress.set(address, before + 1);
      socket.once('close', () => this.#closed(address));
    }
  }

  #refuse(socket: Socket, reason: ListenerRefusal, problem: string): void {
    this.#deps.refused(reason, socket.remoteAddress ?? 'unknown', problem);
    socket.destroy();
  }

  #closed(address: string): void {
    this.#sockets -= 1;
    const left = (this.#perAddress.get(address) ?? 0) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }
}

/** As the system names the other end, IPv4 in IPv6 included. */
function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}
