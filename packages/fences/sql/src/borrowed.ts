/** A connection of a pool for one call. One on which anything is unclear is destroyed, and the server rolls back what was open on it. */

import type { EventEmitter } from 'node:events';
import { invalid, type Cutoff } from '@holdfast/fence/adapter';
import { Guard, type Guarded } from './guard.ts';

export type Lent = Pick<EventEmitter, 'on' | 'off'> & { release(): void };

/** How a connection goes back, or comes to its end. */
export interface Lending {
  release(): void;
  destroy(): void;
}

export class Borrowed<Connection extends Lent> {
  readonly connection: Connection;
  /** What a body has of it. */
  readonly guard: Guard<Connection>;
  readonly #lending: Lending;
  #lost: Error | undefined;
  /** It may come alone where the server ends an idle connection. */
  readonly #onEnd = (): void => this.lose(Object.assign(new Error('the server ended the connection'), ENDED));

  constructor(connection: Connection, guarded: Guarded, lending: Lending) {
    this.connection = connection;
    this.guard = new Guard(connection, guarded);
    this.#lending = lending;
    // Without a listener the end of an idle connection ends the process.
    connection.on('error', this.lose);
    connection.on('end', this.#onEnd);
  }

  /** What has ended the connection, or the transaction on it. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** The first reason counts. */
  readonly lose = (error: Error): void => {
    this.#lost ??= error;
  };

  /** @param reusable no transaction is open on it */
  giveBack(reusable: boolean): void {
    this.connection.off('end', this.#onEnd);
    if (!reusable || this.#lost !== undefined) return this.#lending.destroy();
    this.connection.off('error', this.lose);
    this.#lending.release();
  }
}

const ENDED = { code: 'ECONNRESET' };

/**
 * Rejects with ABORTED when a signal comes first; a connection that comes later goes back.
 *
 * @param otherwise what is told where the pool gives something else
 */
export async function borrow<Connection extends Lent>(
  connecting: Promise<Connection>,
  cutoff: Pick<Cutoff, 'race'>,
  otherwise: string,
): Promise<Connection> {
  let connection: Connection;
  try {
    connection = await cutoff.race(connecting);
  } catch (error) {
    connecting.then(
      (late) => late.release(),
      () => undefined,
    );
    throw error;
  }
  // Of JavaScript anything may come.
  if (typeof (connection as { release?: unknown } | undefined)?.release !== 'function') throw invalid(otherwise);
  return connection;
}
