/**
 * One ZooKeeper session over its own wire protocol. Replies come in the order of the requests, which ZooKeeper promises, so a
 * queue of callbacks is all that is needed; watch events come with an xid of their own.
 */

import type { OpenOptions, RawSession } from '../raw-session.ts';
import { WireSocket } from '../wire-socket.ts';
import { JuteReader, JuteWriter } from './jute.ts';

const OpCode = {
  error: -1,
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getChildren: 8,
  sync: 9,
  ping: 11,
  multi: 14,
  closeSession: -11,
} as const;

const XID_WATCH = -1;
const XID_PING = -2;
const NODE_DELETED = 2;
const RUNTIME_INCONSISTENCY = -2;
const NO_NODE = -101;
const NODE_EXISTS = -110;

const PERSISTENT = 0;
const EPHEMERAL = 1;
const EPHEMERAL_SEQUENTIAL = 3;
const ALL_PERMISSIONS = 31;
const ANY_VERSION = -1;
/** Of a recipe's queue node, in front of the sequence number. */
const QUEUE_PREFIX = 'lock-';
const NO_DATA = new Uint8Array();
const REPLY_HEADER_BYTES = 16;

type Reply = (error: number, body: JuteReader) => void;
const ignore = (): void => undefined;

export function openZooKeeperSession(options: OpenOptions, opened: (session: RawSession) => void): void {
  const session = new ZooKeeperSession(options, () => opened(session));
}

class ZooKeeperSession implements RawSession {
  readonly watch = (node: string, armed: () => void, changed: () => void): void => {
    this.#watchFor(node, changed);
    this.#request(OpCode.getData, (body) => body.string(node).boolean(true), this.#ok(armed));
  };

  readonly #socket: WireSocket;
  readonly #options: OpenOptions;
  readonly #replies: Reply[] = [];
  #nextReply = 0;
  #xid = 0;
  #connected: (() => void) | undefined;
  #pinging: NodeJS.Timeout | undefined;
  #queueNode = '';
  /** The server watches a path once a session, however many here want to know. */
  readonly #watches = new Map<string, (() => void)[]>();

  constructor(options: OpenOptions, connected: () => void) {
    this.#options = options;
    this.#connected = connected;
    this.#socket = new WireSocket(options.address, {
      connected: () => this.#socket.send(connectRequest(options.sessionTimeoutMs)),
      data: (bytes) => this.#data(bytes),
      closed: (error) => {
        clearInterval(this.#pinging);
        options.onFailure(error);
      },
    });
  }

  acquire(lock: string, granted: () => void): void {
    const parent = lockPath(lock);
    this.#create(`${parent}/${QUEUE_PREFIX}`, NO_DATA, EPHEMERAL_SEQUENTIAL, (error, body) => {
      if (error !== 0) return this.#refused('create', error);
      this.#queueNode = body.string();
      this.#takeTurn(parent, granted);
    });
  }

  release(done: () => void): void {
    const node = this.#queueNode;
    this.#request(OpCode.delete, (body) => body.string(node).int(ANY_VERSION), this.#ok(done));
  }

  write(node: string, data: Uint8Array, done: () => void): void {
    this.#request(OpCode.setData, (body) => body.string(node).buffer(data).int(ANY_VERSION), this.#ok(done));
  }

  linearizableRead(node: string, done: () => void): void {
    this.#socket.turn(() => {
      this.#request(OpCode.sync, (body) => body.string(node), this.#ok(ignore));
      this.sessionRead(node, done);
    });
  }

  sessionRead(node: string, done: () => void): void {
    this.#request(OpCode.getData, (body) => body.string(node).boolean(false), this.#ok(done));
  }

  createEphemeral(node: string, data: Uint8Array, done: () => void): void {
    this.#create(node, data, EPHEMERAL, this.#ok(done));
  }

  createNodes(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    const create = (body: JuteWriter, node: string): void => void writeCreate(body, node, data, PERSISTENT);
    this.#multi(OpCode.create, nodes, create, done);
  }

  transaction(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    const set = (body: JuteWriter, node: string): void => void body.string(node).buffer(data).int(ANY_VERSION);
    this.#multi(OpCode.setData, nodes, set, done);
  }

  prepareLock(lock: string, done: () => void): void {
    this.#create(lockPath(lock), NO_DATA, PERSISTENT, (error) => {
      if (error !== 0 && error !== NODE_EXISTS) this.#refused('create', error);
      else done();
    });
  }

  close(done: () => void): void {
    this.#request(
      OpCode.closeSession,
      (body) => body,
      () => {
        this.destroy();
        done();
      },
    );
  }

  destroy(): void {
    clearInterval(this.#pinging);
    this.#socket.destroy();
  }

  /** The recipe's loop: lowest of the queue holds; others wait for the one in front of them to go. */
  #takeTurn(parent: string, granted: () => void): void {
    const own = this.#queueNode.slice(parent.length + 1);
    this.#request(
      OpCode.getChildren,
      (body) => body.string(parent).boolean(false),
      (error, body) => {
        if (error !== 0) return this.#refused('getChildren', error);
        let before = '';
        for (let left = body.int(); left > 0; left -= 1) {
          const child = body.string();
          if (child < own && child > before) before = child;
        }
        if (before === '') granted();
        else this.#waitFor(`${parent}/${before}`, () => this.#takeTurn(parent, granted));
      },
    );
  }

  #waitFor(node: string, gone: () => void): void {
    this.#watchFor(node, gone);
    this.#request(
      OpCode.exists,
      (body) => body.string(node).boolean(true),
      (error) => {
        if (error === 0) return;
        if (error !== NO_NODE) return this.#refused('exists', error);
        // It went before the watch came; the watch on its creation never fires, since sequence numbers are not reused.
        if (this.#watches.delete(node)) gone();
      },
    );
  }

  #create(path: string, data: Uint8Array, flags: number, reply: Reply): void {
    this.#request(OpCode.create, (body) => writeCreate(body, path, data, flags), reply);
  }

  /** The same operation on each of them. A multi that failed is answered without an error in its header: its results are errors. */
  #multi(
    opCode: number,
    nodes: readonly string[],
    write: (body: JuteWriter, node: string) => void,
    done: () => void,
  ): void {
    const request = (body: JuteWriter): JuteWriter => {
      for (const node of nodes) write(body.int(opCode).boolean(false).int(-1), node);
      return body.int(-1).boolean(true).int(-1);
    };
    this.#request(OpCode.multi, request, (error, body) => {
      if (error !== 0) this.#refused('multi', error);
      else if (body.int() === OpCode.error) this.#refused('an operation of multi', firstError(body, nodes.length));
      else done();
    });
  }

  #request(opCode: number, write: (body: JuteWriter) => JuteWriter, reply: Reply): void {
    this.#xid += 1;
    this.#replies.push(reply);
    this.#socket.send(write(new JuteWriter().int(this.#xid).int(opCode)).frame());
  }

  #ok(done: () => void): Reply {
    return (error) => {
      if (error === 0) done();
      else this.#refused('a request', error);
    };
  }

  #refused(what: string, error: number): void {
    this.#options.onFailure(new Error(`ZooKeeper refused ${what} with error ${error}`));
  }

  #data(bytes: Buffer): number {
    let at = 0;
    while (bytes.length - at >= 4) {
      const end = at + 4 + bytes.readInt32BE(at);
      if (end > bytes.length) break;
      this.#frame(bytes.subarray(at + 4, end));
      at = end;
    }
    return at;
  }

  #frame(frame: Buffer): void {
    if (this.#connected !== undefined) {
      this.#greeted(frame);
      return;
    }
    const xid = frame.readInt32BE(0);
    if (xid === XID_PING) return;
    const body = new JuteReader(frame, REPLY_HEADER_BYTES);
    if (xid === XID_WATCH) {
      this.#event(body);
      return;
    }
    const reply = this.#replies[this.#nextReply];
    this.#nextReply += 1;
    // The answered part goes when it is large, in one piece: a shift for every reply costs more.
    if (this.#nextReply === 1_024) {
      this.#replies.splice(0, this.#nextReply);
      this.#nextReply = 0;
    }
    reply?.(frame.readInt32BE(12), body);
  }

  #greeted(frame: Buffer): void {
    const reader = new JuteReader(frame);
    reader.int();
    const timeoutMs = reader.int();
    if (timeoutMs <= 0) {
      this.#options.onFailure(new Error('ZooKeeper refused the session'));
      return;
    }
    this.#pinging = setInterval(
      () => this.#socket.send(new JuteWriter(16).int(XID_PING).int(OpCode.ping).frame()),
      timeoutMs / 3,
    );
    const connected = this.#connected;
    this.#connected = undefined;
    connected?.();
  }

  #event(body: JuteReader): void {
    const type = body.int();
    body.int();
    const path = body.string();
    const told = this.#watches.get(path);
    if (told === undefined) return;
    this.#watches.delete(path);
    if (type === NODE_DELETED || !path.includes(QUEUE_PREFIX)) for (const tell of told) tell();
  }

  #watchFor(node: string, told: () => void): void {
    const watches = this.#watches.get(node);
    if (watches === undefined) this.#watches.set(node, [told]);
    else watches.push(told);
  }
}

function writeCreate(body: JuteWriter, path: string, data: Uint8Array, flags: number): JuteWriter {
  return body.string(path).buffer(data).int(1).int(ALL_PERMISSIONS).string('world').string('anyone').int(flags);
}

/** Of the results of a multi behind the type of the first: those which were not reached, or undone, say nothing of the cause. */
function firstError(body: JuteReader, results: number): number {
  let first = 0;
  for (let left = results; left > 0; left -= 1) {
    body.boolean();
    body.int();
    const error = body.int();
    if (first === 0 && error !== RUNTIME_INCONSISTENCY) first = error;
    body.int();
  }
  return first;
}

function lockPath(lock: string): string {
  return `/${lock}`;
}

function connectRequest(timeoutMs: number): Buffer {
  return new JuteWriter(64).int(0).long(0n).int(timeoutMs).long(0n).buffer(new Uint8Array(16)).boolean(false).frame();
}
