/** One Redis connection over RESP: the lock everyone builds first, SET NX PX and a compare-and-delete script. */

import type { OpenOptions, RawSession } from '../raw-session.ts';
import { WireSocket } from '../wire-socket.ts';

export const RELEASE_SCRIPT =
  "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
const LOCK_MS = '60000';
const CARRIAGE_RETURN = 13;
const DOLLAR = 36;
const MINUS = 45;
const MAX_UNUSED_REPLIES = 1_024;

type Reply = (line: string) => void;

let nextOwner = 0;

export function openRedisSession(options: OpenOptions, opened: (session: RawSession) => void): void {
  const session = new RedisSession(options, () => opened(session));
}

class RedisSession implements RawSession {
  readonly watch = undefined;
  readonly #socket: WireSocket;
  readonly #options: OpenOptions;
  readonly #owner = `owner-${(nextOwner += 1)}`;
  readonly #replies: Reply[] = [];
  #nextReply = 0;
  #script = '';
  #lock = '';

  constructor(options: OpenOptions, ready: () => void) {
    this.#options = options;
    this.#socket = new WireSocket(options.address, {
      connected: () => {
        this.#command(['SCRIPT', 'LOAD', RELEASE_SCRIPT], (hash) => {
          this.#script = hash;
          ready();
        });
      },
      data: (bytes) => this.#data(bytes),
      closed: (error) => options.onFailure(error),
    });
  }

  acquire(lock: string, granted: () => void): void {
    this.#lock = lock;
    this.#command(['SET', lock, this.#owner, 'NX', 'PX', LOCK_MS], (line) => {
      if (line === 'OK') granted();
      else this.#options.onFailure(new Error('Redis has no queue of waiters: only free locks are measured'));
    });
  }

  release(done: () => void): void {
    this.#command(['EVALSHA', this.#script, '1', this.#lock, this.#owner], (line) => {
      if (line === '1') done();
      else this.#options.onFailure(new Error('the lock was gone before its release'));
    });
  }

  write(node: string, data: Uint8Array, done: () => void): void {
    this.#command(['SET', node, Buffer.from(data).toString('latin1')], done);
  }

  linearizableRead(node: string, done: () => void): void {
    this.sessionRead(node, done);
  }

  sessionRead(node: string, done: () => void): void {
    this.#command(['GET', node], done);
  }

  createEphemeral(node: string, data: Uint8Array, done: () => void): void {
    this.write(node, data, done);
  }

  createNodes(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    const text = Buffer.from(data).toString('latin1');
    this.#command(['MSET', ...nodes.flatMap((node) => [node, text])], done);
  }

  transaction(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    this.createNodes(nodes, data, done);
  }

  prepareLock(_lock: string, done: () => void): void {
    done();
  }

  close(done: () => void): void {
    this.destroy();
    done();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #command(parts: readonly string[], reply: Reply): void {
    let text = `*${parts.length}\r\n`;
    for (const part of parts) text += `$${part.length}\r\n${part}\r\n`;
    this.#replies.push(reply);
    this.#socket.send(Buffer.from(text, 'latin1'));
  }

  /** Simple strings, errors, integers and bulk strings: what these commands are answered with. */
  #data(bytes: Buffer): number {
    let at = 0;
    for (;;) {
      const lineEnd = bytes.indexOf(CARRIAGE_RETURN, at);
      if (lineEnd < 0 || lineEnd + 2 > bytes.length) return at;
      const kind = bytes[at];
      let line = bytes.toString('latin1', at + 1, lineEnd);
      let end = lineEnd + 2;
      if (kind === DOLLAR && Number(line) >= 0) {
        const start = end;
        end = start + Number(line) + 2;
        if (end > bytes.length) return at;
        line = bytes.toString('latin1', start, end - 2);
      }
      at = end;
      if (kind === MINUS) this.#options.onFailure(new Error(`Redis answered ${line}`));
      else this.#answer(line);
    }
  }

  #answer(line: string): void {
    const reply = this.#replies[this.#nextReply];
    this.#nextReply += 1;
    if (this.#nextReply === MAX_UNUSED_REPLIES) {
      this.#replies.splice(0, this.#nextReply);
      this.#nextReply = 0;
    }
    reply?.(line);
  }
}
