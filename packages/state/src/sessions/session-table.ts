/** The living sessions, by id and by secret. What has ended is forgotten: an id is the index of an entry and never comes back. */

import { invariant } from '../invariant.ts';
import type { Capture } from '../snapshot/capture.ts';
import { Session, type NewSession } from './session.ts';

export class SessionTable {
  readonly #byId = new Map<number, Session>();
  readonly #bySecret = new Map<string, Session>();
  readonly #capture: Capture;

  constructor(capture: Capture) {
    this.#capture = capture;
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: number): Session | undefined {
    return this.#byId.get(id);
  }

  bySecret(secret: string): Session | undefined {
    return this.#bySecret.get(secret);
  }

  /** In no particular order: sort before anything depends on it. */
  values(): Iterable<Session> {
    return this.#byId.values();
  }

  inOrder(): Session[] {
    return [...this.#byId.values()].sort((left, right) => left.id - right.id);
  }

  create(options: NewSession): Session {
    invariant(!this.#byId.has(options.id), 'a session id is new');
    invariant(!this.#bySecret.has(options.secret), 'a secret belongs to one session');
    const session = new Session(options);
    this.#byId.set(session.id, session);
    this.#bySecret.set(session.secret, session);
    return session;
  }

  /** Must be called before anything of a session changes that is neither an acquire nor a node of its own. */
  changing(session: Session): void {
    this.#capture.session(session);
  }

  remove(session: Session): void {
    this.#capture.session(session);
    invariant(session.acquires.size === 0 && session.ephemerals.size === 0, 'a session that ends has nothing left');
    const removed = this.#byId.delete(session.id) && this.#bySecret.delete(session.secret);
    invariant(removed, 'a session ends once');
  }
}

/** A secret as a key: one character a byte. */
export function secretKey(secret: Uint8Array): string {
  return String.fromCharCode(...secret);
}
