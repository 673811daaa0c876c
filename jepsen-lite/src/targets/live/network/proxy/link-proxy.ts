/**
 * A proxy: TCP proxies of all links that lead from some hosts. A program's detour asks it to dial, and hears what came of that as if it
 * had dialled itself: accepted, refused, or nothing at all. Each direction of each link is slow, held, refused or reset by itself.
 */

import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Effect } from '../../../../nemeses/target.ts';
import { Link, type LinkConditions } from './link.ts';
import type { DialAnswer, Opening, ProxyCommand } from './protocol.ts';
import { ProxiedConnection } from './proxied-connection.ts';

/** For the detoured connection to come, after its dial was answered. */
const JOIN_LIMIT_MS = 5_000;
const MAX_OPENING_BYTES = 4_096;
const NEWLINE = 0x0a;
const CALM: LinkConditions = { latency: undefined, breakChance: 0, dropShare: 0 };

export interface LinkProxyOptions {
  readonly struck: (effect: Effect, times: number) => void;
  /** From 0 to below 1. @default Math.random */
  readonly random?: () => number;
}

type Dial = Extract<Opening, { readonly dial: string }>;

/** Dialled, and not joined yet. */
interface Dialled {
  readonly socket: Socket;
  readonly from: string;
  readonly to: string;
  readonly timer: NodeJS.Timeout;
}

export class LinkProxy {
  readonly #server: Server;
  readonly #options: LinkProxyOptions;
  readonly #conditions: LinkConditions = { ...CALM };
  readonly #links = new Map<string, Link>();
  readonly #dialled = new Map<string, Dialled>();
  readonly #connections = new Map<string, Set<ProxiedConnection>>();
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, options: LinkProxyOptions) {
    this.#server = server;
    this.#options = options;
    server.on('connection', (socket) => this.#opened(socket));
  }

  /** Listens on the loopback of the host that it is on. */
  static async open(options: LinkProxyOptions): Promise<LinkProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const proxy = new LinkProxy(server, options);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Bytes that wait in it, of all connections. */
  get waitingBytes(): number {
    const all = [...this.#connections.values()].flatMap((connections) => [...connections]);
    return all.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);
  }

  obey(command: ProxyCommand): void {
    switch (command.act) {
      case 'cut':
        for (const [from, to] of command.pairs) this.#link(from, to).cut();
        return;
      case 'mend':
        for (const [from, to] of command.pairs) this.#link(from, to).mend();
        return;
      case 'clog':
        return this.#link(command.from, command.to).clog(command.forMs);
      case 'limit':
        return this.#link(command.from, command.to).limit(command.bytesPerSecond);
      case 'slow':
        this.#conditions.latency = command.latency;
        return;
      case 'break':
        this.#conditions.breakChance = command.chance;
        return;
      case 'drop':
        this.#conditions.dropShare = command.share;
        return;
      case 'dials':
        return this.#link(command.from, command.to).setDials(command.mode);
      case 'reset':
        for (const each of this.#connections.get(pairOf(command.one, command.other)) ?? []) each.reset();
        return;
      case 'heal':
        Object.assign(this.#conditions, CALM);
        for (const link of this.#links.values()) link.heal();
    }
  }

  /** Every connection is reset. */
  close(): void {
    this.#server.close();
    for (const link of this.#links.values()) link.heal();
    for (const { timer } of this.#dialled.values()) clearTimeout(timer);
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #link(from: string, to: string): Link {
    const name = `${from}>${to}`;
    const { struck, random = Math.random } = this.#options;
    const link =
      this.#links.get(name) ??
      new Link({ conditions: this.#conditions, count: (effect, times = 1) => struck(effect, times), random });
    this.#links.set(name, link);
    return link;
  }

  #opened(socket: Socket): void {
    this.#keep(socket);
    let heard = Buffer.alloc(0);
    const hear = (chunk: Buffer): void => {
      heard = Buffer.concat([heard, chunk]);
      const end = heard.indexOf(NEWLINE);
      if (end < 0 && heard.length <= MAX_OPENING_BYTES) return;
      socket.off('data', hear);
      const opening = openingOf(heard.subarray(0, end));
      if (opening === undefined) socket.resetAndDestroy();
      else if ('dial' in opening) void this.#dial(socket, opening);
      else this.#join(socket, opening.join, heard.subarray(end + 1));
    };
    socket.on('data', hear);
  }

  /** The one who asks gives up by closing. */
  async #dial(asker: Socket, dial: Dial): Promise<void> {
    const { from, to, host, port } = dial;
    asker.on('end', () => asker.destroy()).resume();
    const there = this.#link(from, to);
    const back = this.#link(to, from);
    await passed(there, asker);
    if (await isRefused(there, asker)) return answer(asker, { code: 'ECONNREFUSED' });
    if (asker.destroyed) return;
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    this.#keep(socket);
    const giveUp = (): void => void socket.destroy();
    asker.once('close', giveUp);
    const code = await dialled(socket);
    await passed(back, asker);
    asker.off('close', giveUp);
    if (asker.destroyed) return giveUp();
    if (code !== undefined) return answer(asker, { code });
    const timer = setTimeout(() => {
      this.#dialled.delete(dial.dial);
      socket.destroy();
    }, JOIN_LIMIT_MS);
    this.#dialled.set(dial.dial, { socket, from, to, timer });
    answer(asker, {});
  }

  #join(dialler: Socket, ticket: string, first: Buffer): void {
    const found = this.#dialled.get(ticket);
    this.#dialled.delete(ticket);
    clearTimeout(found?.timer);
    if (found === undefined || found.socket.destroyed) {
      found?.socket.destroy();
      dialler.resetAndDestroy();
      return;
    }
    const { socket: listener, from, to } = found;
    const [there, back] = [this.#link(from, to), this.#link(to, from)];
    const connection = new ProxiedConnection({ dialler, listener, there, back, first });
    const pair = pairOf(from, to);
    const open = this.#connections.get(pair) ?? new Set();
    this.#connections.set(pair, open.add(connection));
    connection.whenClosed(() => open.delete(connection));
  }

  /** Whatever it fails with, whoever uses it sees that it is closed. */
  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

/** The same for both directions. */
function pairOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

function openingOf(line: Buffer): Opening | undefined {
  try {
    return JSON.parse(line.toString()) as Opening;
  } catch {
    return undefined;
  }
}

function answer(asker: Socket, what: DialAnswer): void {
  if (asker.writable) asker.end(`${JSON.stringify(what)}\n`);
}

/** Resolves when what opens a connection has passed the link, or whoever asked has given up. */
async function passed(link: Link, asker: Socket): Promise<void> {
  const delayMs = link.delayMs();
  if (delayMs > 0) {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    link.count('frame-slowed');
  }
  const pauseMs = link.pauseMs();
  if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  const { hold } = link;
  if (hold !== undefined) link.count(hold);
  while (link.hold !== undefined && !asker.destroyed) await changed(link, asker);
}

/** False as soon as dials are taken, or whoever asked has given up; for as long as they hang, nothing. */
async function isRefused(link: Link, asker: Socket): Promise<boolean> {
  if (link.dials === 'hanging') link.count('dial-hung');
  while (link.dials === 'hanging' && !asker.destroyed) await changed(link, asker);
  if (link.dials !== 'refused') return false;
  link.count('dial-refused');
  return true;
}

async function changed(link: Link, asker: Socket): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = (): void => {
      link.forget(look);
      asker.off('close', look);
      resolve();
    };
    link.whenChanged(look);
    asker.once('close', look);
  });
}

/** The code of the error that it fails with; undefined: it is connected. */
async function dialled(socket: Socket): Promise<string | undefined> {
  return await new Promise((resolve) => {
    socket.once('connect', () => resolve(undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'ECONNRESET'));
    socket.once('close', () => resolve('ECONNRESET'));
  });
}
