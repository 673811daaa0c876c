/** A proxy, a listener that is dialled through it, and a dialler that speaks as a detour does. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Effect } from '../../../../src/nemeses/target.ts';
import { LinkProxy } from '../../../../src/targets/live/network/proxy/link-proxy.ts';
import type { DialAnswer, Opening } from '../../../../src/targets/live/network/proxy/protocol.ts';

export class ProxiedWorld {
  readonly proxy: LinkProxy;
  readonly struck: Map<Effect, number>;
  readonly #server: Server;
  readonly #sockets: Socket[] = [];
  readonly #port: number;
  /** That the listener was connected to. */
  dialsTaken = 0;

  private constructor(proxy: LinkProxy, struck: Map<Effect, number>, server: Server) {
    this.proxy = proxy;
    this.struck = struck;
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => {
      this.dialsTaken += 1;
      this.#sockets.push(socket);
      socket.on('error', () => undefined);
    });
  }

  /** `random`: of the proxy, from 0 to below 1. */
  static async open(random: () => number = Math.random): Promise<ProxiedWorld> {
    const struck = new Map<Effect, number>();
    const proxy = await LinkProxy.open({
      struck: (effect, times) => struck.set(effect, (struck.get(effect) ?? 0) + times),
      random,
    });
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ProxiedWorld(proxy, struck, server);
  }

  count(effect: Effect): number {
    return this.struck.get(effect) ?? 0;
  }

  /** What `a` is told when it dials `b` by the proxy. Rejects when the proxy says nothing until `signal`. */
  async dial(signal?: AbortSignal): Promise<{ readonly ticket: string; readonly answer: DialAnswer }> {
    const ticket = randomUUID();
    const asker = this.#connect({ dial: ticket, from: 'a', to: 'b', host: '127.0.0.1', port: this.#port });
    signal?.addEventListener('abort', () => asker.destroy());
    const [line] = (await once(asker, 'data', { signal })) as [Buffer];
    return { ticket, answer: JSON.parse(line.toString()) as DialAnswer };
  }

  /** A connection from `a` to `b`: both ends of it. */
  async connect(): Promise<{ readonly a: Socket; readonly b: Socket }> {
    const accepted = once(this.#server, 'connection') as Promise<[Socket]>;
    const { ticket } = await this.dial();
    const a = this.#connect({ join: ticket });
    const [b] = await accepted;
    // What the listener has accepted the dialler may not have joined yet.
    a.write('?');
    await once(b, 'readable');
    b.read();
    return { a, b };
  }

  /** From now on dials are refused. */
  stopListening(): void {
    this.#server.close();
  }

  close(): void {
    this.proxy.close();
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(opening: Opening): Socket {
    const socket = connect({ host: '127.0.0.1', port: this.proxy.port, allowHalfOpen: true });
    this.#sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(`${JSON.stringify(opening)}\n`);
    return socket;
  }
}

/** All bytes that arrive, as text. */
export class Heard {
  text = '';
  ended = false;

  constructor(socket: Socket) {
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => (this.text += text));
    socket.on('end', () => (this.ended = true));
  }
}
