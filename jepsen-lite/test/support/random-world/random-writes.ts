/** What holders do at a store with a fence and at one without, step by step; the outcome of some writes is unknown to them. */

import type { HistoryEventBody, Operation } from '../../../src/history/history.ts';
import { TwoStores, UNFENCED } from '../two-stores.ts';
import type { Calls, Session } from './session.ts';

export class RandomWrites {
  readonly #calls: Calls;
  readonly #accepted: (body: HistoryEventBody) => void;
  readonly #stores = new TwoStores();

  /** `accepted`: told by the store with the fence. */
  constructor(calls: Calls, accepted: (body: HistoryEventBody) => void) {
    this.#calls = calls;
    this.#accepted = accepted;
  }

  /** The next step of: install the token, read, write the next number; at the store without a fence, only the write. */
  work(session: Session): void {
    const { held } = session;
    if (held === undefined || session.busy) return;
    const { token, lock } = held.waiter;
    const bucket = `guarded-by-${lock}`;
    const key = 'n';
    if (!held.fenced) {
      this.#atStore(session, { f: 'fence', bucket, token }, () => {
        held.fenced = true;
      });
    } else if (held.read === undefined) {
      this.#atStore(session, { f: 'get', bucket, key, token }, (value) => {
        held.read = value;
      });
    } else {
      const number = held.read === null ? 0 : Number(held.read.split(':')[1]);
      const value = `${token}:${number + 1}`;
      this.#atStore(session, { f: 'put', bucket, key, value, token }, () => {
        held.read = undefined;
        if (this.#calls.choose(2) === 0)
          this.#atStore(session, { f: 'put', bucket: UNFENCED, key, value, token }, () => {});
      });
    }
  }

  #atStore(
    session: Session,
    operation: Extract<Operation, { readonly f: 'fence' | 'put' | 'get' }>,
    then: (value: string | null) => void,
  ): void {
    const call = this.#calls.invoke(session, operation);
    const { bucket, token = 0 } = operation;
    this.#calls.later(() => {
      const { passes, highest, value } = this.#stores.apply(operation);
      if (passes && operation.f !== 'get') this.#accepted({ type: 'accepted', f: operation.f, bucket, token });
      this.#calls.later(() => {
        if (operation.f !== 'get' && this.#calls.choose(8) === 0) {
          // Whoever does not know what became of a write stops writing under that token.
          session.held = undefined;
          this.#calls.complete(session, { type: 'info', call, ...operation, code: 'TIMEOUT' });
        } else if (!passes) {
          this.#calls.complete(session, { type: 'fail', call, ...operation, code: 'STALE_TOKEN', highest });
        } else {
          this.#calls.complete(
            session,
            operation.f === 'get' ? { type: 'ok', call, ...operation, value } : { type: 'ok', call, ...operation },
          );
          then(value);
        }
      });
    });
  }
}
