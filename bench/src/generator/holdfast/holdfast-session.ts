/**
 * One Holdfast session: our frames, encoded and decoded by the protocol's own codec, over a bare socket. Everything that is sent
 * in a turn is one frame, as the SDK does it.
 */

import { randomBytes } from 'node:crypto';

import {
  ClientFeature,
  CommandType,
  CreateMode,
  decodeServerFrame,
  encodeAttachRequest,
  encodeClientFrame,
  encodeCommand,
  PROTOCOL_VERSION,
  SECRET_BYTES,
  type ClientMessage,
  type Command,
  type Consistency,
  type Reply,
  type ServerMessage,
} from '@holdfast/protocol';

import type { OpenOptions, RawSession } from '../raw-session.ts';
import { WireSocket } from '../wire-socket.ts';
import { frameAt, maskedFrame, randomMask, upgradeHead, upgradeRequest } from './web-socket.ts';

const BINARY = 2;
const CLOSE = 8;
/** How long before what the server did not take is sent again. */
const RESEND_DELAY_MS = 5;

type Request = Extract<ClientMessage, { type: 'request' }>;
type ClientCommand = Exclude<Command, { type: 'attach' | 'expireSession' }>;

export function openHoldfastSession(options: OpenOptions, opened: (session: HoldfastSession) => void): void {
  const session = new HoldfastSession(options, () => opened(session));
}

interface Watched {
  /** Undefined once the server watches. */
  armed: (() => void)[] | undefined;
  readonly changed: (() => void)[];
}

export class HoldfastSession implements RawSession {
  /** What watches of {@link watchAll} have told. */
  eventsHeard = 0;
  /** One watch of the server, for all here that want to know of the node. */
  readonly watch = (node: string, armed: () => void, changed: () => void): void => {
    const present = this.#watches.get(node);
    if (present !== undefined) {
      present.changed.push(changed);
      if (present.armed === undefined) armed();
      else present.armed.push(armed);
      return;
    }
    this.#watches.set(node, { armed: [armed], changed: [changed] });
    this.#lastWatch += 1;
    this.#watching.set(this.#lastWatch, node);
    const nodes = [{ kind: 'data', path: node, existed: true }] as const;
    this.#post({ type: 'watch', id: this.#lastWatch, from: 0, minIndex: this.#highestIndex, nodes });
  };
  readonly #options: OpenOptions;
  readonly #socket: WireSocket;
  readonly #mask = randomMask();
  readonly #attached: () => void;
  readonly #requests = new Map<number, Request>();
  readonly #replies = new Map<number, (reply: Reply) => void>();
  readonly #reads = new Map<number, () => void>();
  readonly #watches = new Map<string, Watched>();
  /** Nodes by the ids of the messages that watch them, until these are answered. */
  readonly #watching = new Map<number, string>();
  readonly #watchingAll = new Map<number, () => void>();
  #lastWatch = 0;
  #upgraded = false;
  #outbox: ClientMessage[] = [];
  #lastNumber = 0;
  #ackedUpTo = 0;
  #lastRead = 0;
  #highestIndex = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #resend: NodeJS.Timeout | undefined;
  #lock = '';
  #acquireIndex = 0;
  #granted: (() => void) | undefined;

  constructor(options: OpenOptions, attached: () => void) {
    this.#options = options;
    this.#attached = attached;
    this.#socket = new WireSocket(options.address, {
      connected: () => this.#socket.send(upgradeRequest(options.address)),
      data: (bytes) => this.#data(bytes),
      flushing: () => this.#frameOutbox(),
      closed: (error) => this.#fail(error),
    });
  }

  acquire(lock: string, granted: () => void): void {
    this.#lock = lock;
    this.#command({ type: 'acquire', lock, kind: 0, wait: true }, (reply) => {
      if (reply.type !== 'acquire') return this.#refused(reply);
      this.#acquireIndex = reply.acquireIndex;
      if (reply.token === 0) this.#granted = granted;
      else granted();
    });
  }

  release(done: () => void): void {
    this.#command({ type: 'release', lock: this.#lock, acquireIndex: this.#acquireIndex }, this.#expect('done', done));
  }

  write(node: string, data: Uint8Array, done: () => void): void {
    this.#command({ type: 'set', path: node, data, version: -1 }, this.#expect('changed', done));
  }

  linearizableRead(node: string, done: () => void): void {
    this.#read(node, 'linearizable', done);
  }

  sessionRead(node: string, done: () => void): void {
    this.#read(node, 'session', done);
  }

  createEphemeral(node: string, data: Uint8Array, done: () => void): void {
    const command = { type: 'create', path: node, data, mode: CreateMode.ephemeral } as const;
    this.#command(command, this.#expect('created', done));
  }

  createNodes(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    let left = nodes.length;
    const created = this.#expect('created', () => {
      left -= 1;
      if (left === 0) done();
    });
    this.#socket.turn(() => {
      for (const path of nodes) {
        this.#command({ type: 'create', path, data, mode: CreateMode.persistent }, created);
      }
    });
  }

  transaction(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    const operations = nodes.map((path) => ({ type: 'set', path, data: [data], version: -1 }) as const);
    this.#command({ type: 'transaction', operations }, this.#expect('transaction', done));
  }

  /** A one-shot watch on each of them, by one message; at most as many as a message may name. */
  watchAll(nodes: readonly string[], watching: () => void): void {
    this.#lastWatch += 1;
    this.#watchingAll.set(this.#lastWatch, watching);
    const watched = nodes.map((path) => ({ kind: 'data', path, existed: true }) as const);
    this.#post({ type: 'watch', id: this.#lastWatch, from: 0, minIndex: this.#highestIndex, nodes: watched });
  }

  prepareLock(_lock: string, done: () => void): void {
    done();
  }

  close(done: () => void): void {
    const closed = (): void => {
      this.destroy();
      done();
    };
    this.#command({ type: 'closeSession', session: 0 }, closed);
  }

  destroy(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#resend);
    this.#socket.destroy();
  }

  #command(command: ClientCommand, reply: (reply: Reply) => void): void {
    this.#lastNumber += 1;
    const request: Request = {
      type: 'request',
      number: this.#lastNumber,
      ackedUpTo: this.#ackedUpTo,
      command: CommandType[command.type],
      payload: encodeCommand(command),
    };
    this.#requests.set(request.number, request);
    this.#replies.set(request.number, reply);
    // While a resend is due it goes with the others, in order.
    if (this.#resend === undefined) this.#post(request);
  }

  #read(path: string, consistency: Consistency, done: () => void): void {
    this.#lastRead += 1;
    this.#reads.set(this.#lastRead, done);
    this.#post({
      type: 'read',
      id: this.#lastRead,
      consistency,
      minIndex: this.#highestIndex,
      query: { type: 'get', path },
    });
  }

  #post(message: ClientMessage): void {
    this.#outbox.push(message);
    if (!this.#socket.inTurn) this.#socket.flush();
  }

  #frameOutbox(): void {
    if (this.#outbox.length === 0) return;
    const messages = this.#outbox;
    this.#outbox = [];
    this.#socket.turn(() => this.#socket.send(maskedFrame(encodeClientFrame(messages), this.#mask)));
  }

  #data(bytes: Buffer): number {
    let at = 0;
    if (!this.#upgraded) {
      try {
        at = upgradeHead(bytes);
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)));
        return bytes.length;
      }
      if (at === 0) return 0;
      this.#upgraded = true;
      this.#post({
        type: 'hello',
        version: PROTOCOL_VERSION,
        features: ClientFeature.watches,
        clusterId: '',
        required: 0,
      });
    }
    for (let head = frameAt(bytes, at); head !== undefined; head = frameAt(bytes, at)) {
      at = head.end;
      if (head.opcode === BINARY) {
        for (const message of decodeServerFrame(bytes.subarray(head.start, head.end))) this.#message(message);
      } else if (head.opcode === CLOSE) this.#fail(new Error('the server closed the WebSocket'));
    }
    return at;
  }

  #message(message: ServerMessage): void {
    switch (message.type) {
      case 'welcome':
        this.#attach();
        break;
      case 'attached':
        if (message.reply.type !== 'attached') return this.#refused(message.reply);
        this.#heartbeat = setInterval(
          () => this.#post({ type: 'heartbeat', id: 1 }),
          this.#options.sessionTimeoutMs / 3,
        );
        this.#attached();
        break;
      case 'reply':
        this.#answered(message.number, message.index, message.reply);
        break;
      case 'answer': {
        if (message.answer.type !== 'get') return this.#fail(new Error('a read was answered with an error'));
        this.#highestIndex = Math.max(this.#highestIndex, message.index);
        const done = this.#reads.get(message.id);
        this.#reads.delete(message.id);
        done?.();
        break;
      }
      case 'granted': {
        const granted = this.#granted;
        this.#granted = undefined;
        granted?.();
        break;
      }
      case 'resend':
        this.#resend ??= setTimeout(() => this.#sendAgain(), RESEND_DELAY_MS);
        break;
      case 'watching':
        this.#armed(message.id);
        break;
      case 'events':
        for (const { path } of message.events) this.#changed(path);
        break;
      case 'watch-refused':
      case 'missed':
      case 'lost':
      case 'ended':
      case 'goodbye':
        this.#fail(new Error(`the server said ${JSON.stringify(message)}`));
        break;
      case 'floor':
      case 'contended':
      case 'release-requested':
      case 'renewed':
      case 'unwatched':
      case 'leave':
      case 'admin-answer':
      case 'pong':
      case 'leader':
        break;
    }
  }

  #armed(id: number): void {
    const watching = this.#watchingAll.get(id);
    if (watching !== undefined) {
      this.#watchingAll.delete(id);
      watching();
      return;
    }
    const watched = this.#watches.get(this.#watching.get(id) ?? '');
    this.#watching.delete(id);
    const armed = watched?.armed ?? [];
    if (watched !== undefined) watched.armed = undefined;
    for (const each of armed) each();
  }

  #changed(path: string): void {
    const watched = this.#watches.get(path);
    if (watched === undefined) {
      this.eventsHeard += 1;
      return;
    }
    this.#watches.delete(path);
    for (const changed of watched.changed) changed();
  }

  #attach(): void {
    const payload = encodeAttachRequest({
      secret: randomBytes(SECRET_BYTES),
      session: 0,
      timeoutMs: this.#options.sessionTimeoutMs,
      label: 'bench',
    });
    this.#post({ type: 'attach', id: 1, payload });
  }

  #answered(number: number, index: number, reply: Reply): void {
    this.#highestIndex = Math.max(this.#highestIndex, index);
    const told = this.#replies.get(number);
    this.#replies.delete(number);
    this.#requests.delete(number);
    while (this.#ackedUpTo < this.#lastNumber && !this.#requests.has(this.#ackedUpTo + 1)) this.#ackedUpTo += 1;
    told?.(reply);
  }

  #sendAgain(): void {
    this.#resend = undefined;
    this.#socket.turn(() => {
      for (const request of this.#requests.values()) this.#post(request);
    });
  }

  #expect(type: Reply['type'], done: () => void): (reply: Reply) => void {
    return (reply) => {
      if (reply.type === type) done();
      else this.#refused(reply);
    };
  }

  #refused(reply: Reply): void {
    this.#fail(new Error(`the server answered ${JSON.stringify(reply)}`));
  }

  #fail(error: Error): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#resend);
    this.#options.onFailure(error);
  }
}
