/** Holders within this process, and a lock that is a queue: the situations as they are, without an ensemble. */

import type { Connection } from '../../../src/resource/adapters/resource.ts';
import type { Link } from '../../../src/resource/holders/held-back-link.ts';
import {
  now,
  type Call,
  type CallOptions,
  type CallResult,
  type Holder,
} from '../../../src/resource/holders/holder.ts';
import type { HolderName, Route } from '../../../src/resource/holders/holder.ts';
import type { Cast } from '../../../src/resource/rounds/round.ts';

/** Its tokens rise; a holder that is stopped loses it to whoever asks. */
class MemoryLock {
  #holder: MemoryHolder | undefined;
  #token = 0;

  acquire(holder: MemoryHolder): number {
    if (this.#holder !== undefined && !this.#holder.stopped) throw new Error('the lock is held');
    this.#holder = holder;
    this.#token += 3;
    return this.#token;
  }

  release(holder: MemoryHolder): void {
    if (this.#holder === holder) this.#holder = undefined;
  }
}

class MemoryLink implements Link {
  #released: Promise<void> = Promise.resolve();
  #release: () => void = () => undefined;
  #onSent: () => void = () => undefined;

  async hold(): Promise<void> {
    this.#released = new Promise((resolve) => (this.#release = resolve));
    await new Promise<void>((resolve) => (this.#onSent = resolve));
  }

  release(): void {
    this.#release();
  }

  async pass(): Promise<void> {
    this.#onSent();
    await this.#released;
  }
}

class MemoryHolder implements Holder {
  readonly name: HolderName;
  readonly #lock: MemoryLock;
  readonly #open: () => Connection;
  readonly #link: MemoryLink;
  readonly #connections = new Map<Route, Connection>();
  #awake: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;

  constructor(name: HolderName, lock: MemoryLock, open: () => Connection, link: MemoryLink) {
    this.name = name;
    this.#lock = lock;
    this.#open = open;
    this.#link = link;
  }

  get stopped(): boolean {
    return this.#wake !== undefined;
  }

  acquire(): Promise<number> {
    return Promise.resolve(this.#lock.acquire(this));
  }

  release(): Promise<void> {
    this.#lock.release(this);
    return Promise.resolve();
  }

  async call(call: Call, { route = 'own', at = 0 }: CallOptions = {}): Promise<CallResult> {
    await this.#awake;
    while (now() < at) await new Promise((resolve) => setImmediate(resolve));
    const connection = this.#connections.get(route) ?? this.#open();
    if (route !== 'new') this.#connections.set(route, connection);
    const calledAt = now();
    if (route === 'held back') await this.#link.pass();
    if (call.type === 'read') {
      const value = await connection.read();
      return { calledAt, endedAt: now(), outcome: { type: 'taken' }, value };
    }
    const outcome = await change(connection, call);
    return { calledAt, endedAt: now(), outcome };
  }

  pause(): void {
    this.#awake = new Promise((resolve) => (this.#wake = resolve));
  }

  resume(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

async function change(
  connection: Connection,
  call: Exclude<Call, { readonly type: 'read' }>,
): Promise<CallResult['outcome']> {
  if (call.type === 'write') return await connection.write(call.value, call.token);
  const done =
    call.type === 'install' ? connection.install?.(call.token) : connection.writeUnfenced?.(call.value, call.token);
  if (done === undefined) throw new Error('told to do what this resource cannot');
  return await done;
}

export function memoryCast(open: () => Connection): Cast {
  const lock = new MemoryLock();
  const link = new MemoryLink();
  const holder = (name: HolderName): Holder => new MemoryHolder(name, lock, open, link);
  const { install, writeUnfenced } = open();
  return {
    a: holder('A'),
    b: holder('B'),
    c: holder('C'),
    installs: install !== undefined,
    writesUnfenced: writeUnfenced !== undefined,
    link,
  };
}
