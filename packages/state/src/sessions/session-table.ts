/** The living sessions, by id and by the hash of its secret. What has ended is forgotten: an id is the index of an entry and never comes back. */

import { invariant } from '../invariant.ts';
import { ListingIndex } from '../queries/listing-index.ts';
import type { Capture } from '../snapshot/capture.ts';
import { ReplyBudget, type ReplyLimits } from './reply-budget.ts';
import { Session, type Ending, type NewSession } from './session.ts';

export class SessionTable {
  readonly #byId = new Map<number, Session>();
  readonly ids = new ListingIndex(this.#byId);
  readonly #bySecretHash = new Map<string, Session>();
  readonly #capture: Capture;
  readonly #ending = new Set<number>();
  readonly #labels = new Map<string, number>();
  /** What their reply caches take together. */
  readonly replies: ReplyBudget;

  constructor(capture: Capture, limits: ReplyLimits) {
    this.#capture = capture;
    this.replies = new ReplyBudget(limits);
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: number): Session | undefined {
    return this.#byId.get(id);
  }

  bySecretHash(secretHash: string): Session | undefined {
    return this.#bySecretHash.get(secretHash);
  }

  /** In no particular order: sort before anything depends on it. */
  values(): Iterable<Session> {
    return this.#byId.values();
  }

  inOrder(): Session[] {
    return [...this.#byId.values()].sort((left, right) => left.id - right.id);
  }

  /** Sessions of that label. */
  labelled(label: string): number {
    return this.#labels.get(label) ?? 0;
  }

  create(options: NewSession): Session {
    invariant(!this.#byId.has(options.id), 'a session id is new');
    invariant(!this.#bySecretHash.has(options.secretHash), 'a secret belongs to one session');
    const session = new Session(options, this.replies);
    this.#byId.set(session.id, session);
    this.#labels.set(session.label, this.labelled(session.label) + 1);
    this.ids.added(session.id);
    this.#bySecretHash.set(session.secretHash, session);
    return session;
  }

  /** The session is over for good, though nodes of it are left. */
  beginEnd(session: Session, ending: Ending): void {
    this.#capture.session(session);
    session.ending = ending;
    this.#ending.add(session.id);
  }

  /** The oldest of those that are ending; 0 for none. */
  get firstEnding(): number {
    let first = 0;
    if (this.#ending.size === 0) return 0;
    for (const id of this.#ending) if (first === 0 || id < first) first = id;
    return first;
  }

  /** Must be called before anything of a session changes that is neither an acquire nor a node of its own. */
  changing(session: Session): void {
    this.#capture.session(session);
  }

  remove(session: Session): void {
    this.#capture.session(session);
    invariant(session.ephemerals.size === 0, 'a session that ends has no nodes left');
    this.#ending.delete(session.id);
    const labelled = this.labelled(session.label) - 1;
    if (labelled > 0) this.#labels.set(session.label, labelled);
    else this.#labels.delete(session.label);
    session.cache.clear();
    const removed = this.#byId.delete(session.id) && this.#bySecretHash.delete(session.secretHash);
    invariant(removed, 'a session ends once');
    this.ids.removed();
  }
}

/** The hash of a secret as a key: one character a byte. */
export function hashKey(secretHash: Uint8Array): string {
  return String.fromCharCode(...secretHash);
}
