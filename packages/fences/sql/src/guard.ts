/**
 * The connection as a body has it: all that the driver offers, except what would end the transaction, and nothing behind its end. What is sent
 * there would not be fenced.
 */

import { invalid } from '@holdfast/fence/adapter';

export interface Guarded {
  /** Methods that send statements. */
  readonly sending: RegExp;
  /** Methods that would end the transaction or the connection. */
  readonly ending: RegExp;
  /** Statements that would. */
  readonly endingStatements: RegExp;
  /** Sends a statement, which throws where it is refused, and may look at its answer. @default sends it */
  readonly send?: (sending: () => unknown, text: string) => unknown;
}

export class Guard<Connection extends object> {
  readonly tx: Connection;
  #over = false;

  constructor(connection: Connection, { sending, ending, endingStatements, send = (now) => now() }: Guarded) {
    const sent = (method: unknown, args: readonly unknown[]): unknown => {
      const text = textOf(args[0]);
      return send(() => {
        if (this.#over) {
          throw invalid(`the transaction is over, and ${shown(text)} was not sent: await every statement in the body`);
        }
        if (endingStatements.test(text)) refuse(shown(text));
        return Reflect.apply(method as (...values: unknown[]) => unknown, connection, args);
      }, text);
    };
    this.tx = new Proxy(connection, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (sending.test(String(name))) return (...args: readonly unknown[]) => sent(value, args);
        return ending.test(String(name)) ? () => refuse(`tx.${String(name)}()`) : value.bind(target);
      },
    });
  }

  /** From now on nothing more is sent. */
  close(): void {
    this.#over = true;
  }
}

function refuse(what: string): never {
  throw invalid(`${what} would end the transaction: let the body return to commit, or throw to roll back`);
}

const COMMENTS = String.raw`^(?:\s|/\*[^!][^]*?\*/|--\s.*\n|#.*\n)*`;

/** Whatever comments are before it. @param words of a regular expression */
export function statementsThatBegin(words: string): RegExp {
  return new RegExp(`${COMMENTS}${words}`, 'i');
}

/** Texts, and what drivers take instead: `{ text }` of pg, `{ sql }` of mysql2. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  if (typeof query !== 'object' || query === null) return '';
  if ('text' in query) return String(query.text);
  return 'sql' in query ? String(query.sql) : '';
}

/** Short enough for a message. */
const MAX_SHOWN = 60;

export function shown(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}
