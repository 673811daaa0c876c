/**
 * A TCP link to the resource on which what a holder sends can be held back: the network as it is when a packet is late. What the
 * resource sends passes at once.
 */

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import type { Detour } from '../adapters/url.ts';

export interface Link {
  /** From now on nothing reaches the resource. Resolves when something that was sent is held. */
  hold(timeoutMs: number): Promise<void>;
  /** Lets through what was held, and all that follows. */
  release(): void;
}

export class HeldBackLink implements Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #holding = false;
  #held: (() => void)[] = [];
  #onHeld: (() => void) | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(url: string): Promise<HeldBackLink> {
    const { hostname, port, protocol } = new URL(url);
    const target = {
      host: hostname.replaceAll(/^\[|\]$/g, ''),
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
    };
    const server = createServer({ noDelay: true });
    const link = new HeldBackLink(server);
    server.on('connection', (socket) => link.#join(socket, connect({ ...target, noDelay: true })));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return link;
  }

  get detour(): Detour {
    return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port };
  }

  async hold(timeoutMs: number): Promise<void> {
    this.#holding = true;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`nothing was sent within ${timeoutMs} ms`)), timeoutMs);
      this.#onHeld = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  release(): void {
    this.#holding = false;
    const held = this.#held;
    this.#held = [];
    for (const deliver of held) deliver();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(holder: Socket, resource: Socket): void {
    for (const [socket, other] of [
      [holder, resource],
      [resource, holder],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    resource.on('data', (bytes) => holder.write(bytes));
    holder.on('data', (bytes) => {
      if (!this.#holding) {
        resource.write(bytes);
        return;
      }
      this.#held.push(() => resource.write(bytes));
      this.#onHeld?.();
    });
  }
}
