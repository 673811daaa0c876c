/** Nodes that are made, set, deleted and read by many at once; some calls are lost, and may be done nevertheless. */

import type { Operation } from '../../../src/history/history.ts';
import { withElement } from '../../../src/history/list-nodes.ts';
import { NodeTable } from '../node-table.ts';
import type { Calls, Session } from './session.ts';

const PATHS = ['/x', '/y'];
const LIST = '/list-0-0';
const PARENT = '/once-0-0';

export class RandomNodes {
  readonly #calls: Calls;
  readonly #table = new NodeTable();
  #values = 0;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Creates, sets, deletes or reads one of two. */
  node(session: Session): void {
    if (session.busy || session.over) return;
    const path = PATHS[this.#calls.choose(PATHS.length)] ?? '/x';
    this.#values += 1;
    const value = `v${this.#values}`;
    const seen = this.#table.version(path);
    const version = this.#calls.choose(2) === 0 || seen === undefined ? undefined : seen;
    const demand = version === undefined ? {} : { version };
    const operations = [
      { f: 'create', path, value },
      { f: 'set', path, value, ...demand },
      { f: 'delete', path, ...demand },
      { f: 'read', path, consistency: 'linearizable' },
      { f: 'read', path, consistency: 'local' },
    ] as const;
    this.#atNode(session, operations[this.#calls.choose(operations.length)] ?? operations[3]);
  }

  /** Creates, reads or appends to it. */
  list(session: Session): void {
    if (session.busy || session.over) return;
    const version = this.#table.version(LIST);
    if (version === undefined) return this.#atNode(session, { f: 'create', path: LIST, value: '' });
    if (this.#calls.choose(3) === 0)
      return this.#atNode(session, { f: 'read', path: LIST, consistency: 'linearizable' });
    this.#values += 1;
    const value = withElement(this.#table.value(LIST), `v${this.#values}`);
    this.#atNode(session, { f: 'set', path: LIST, value, version });
  }

  /** Creates a child, or lists all. */
  sequential(session: Session): void {
    if (session.busy || session.over) return;
    if (this.#calls.choose(6) === 0) return this.#atNode(session, { f: 'list', path: PARENT });
    this.#values += 1;
    const path = `${PARENT}/n${this.#values}-`;
    this.#atNode(session, { f: 'create-sequential', path, value: path });
  }

  /** When nobody appends or creates any more. */
  readAll(session: Session): void {
    const readings = [
      { f: 'read', path: LIST, consistency: 'linearizable' },
      { f: 'list', path: PARENT },
    ] as const;
    for (const operation of readings) {
      this.#calls.complete(session, this.#table.apply(operation, this.#calls.invoke(session, operation)));
    }
  }

  #atNode(session: Session, operation: Extract<Operation, { readonly path: string }>): void {
    const call = this.#calls.invoke(session, operation);
    const lost = operation.f !== 'read' && operation.f !== 'list' && this.#calls.choose(6) === 0;
    if (lost) {
      this.#calls.complete(session, { type: 'info', call, ...operation, code: 'TIMEOUT' });
      if (this.#calls.choose(2) === 0) this.#calls.later(() => void this.#table.apply(operation, call));
    } else {
      this.#calls.later(() => {
        const answer = this.#table.apply(operation, call);
        this.#calls.later(() => this.#calls.complete(session, answer));
      });
    }
  }
}
