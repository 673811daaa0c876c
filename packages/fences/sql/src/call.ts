/**
 * acquire → install → read → write, on a database: the steps of a call in their order. How a token is installed and verified is each database's
 * own, and its fence says it. The install is a transaction by itself, before the one of the body: so what the body reads is later than
 * everything that older holders have committed.
 */

import { checkBody, told, withCutoff, type Cutoff } from '@holdfast/fence/adapter';
import type { Borrowed, Lent } from './borrowed.ts';
import { settingsOf, type Arguments, type Settings } from './options.ts';

/** One connection for one call. Its methods reject with errors of a fence. */
export interface FencedSession<Connection extends Lent> {
  readonly borrowed: Borrowed<Connection>;
  /** Installs the token, in a transaction of its own. */
  install(): Promise<void>;
  /** Opens the body's transaction and verifies the token in it. What is not installed yet is so before. */
  enter(): Promise<void>;
  commit(): Promise<void>;
  /** @returns whether nothing is open on the connection any more */
  rollBack(): Promise<boolean>;
  /** @returns what is told where the body has rejected with `error`, or where that has ended its connection or its transaction */
  failureOfBody(error: unknown): unknown;
}

/** A call whose arguments are well-formed. */
export interface Opened<Pool> extends Arguments<Pool> {
  readonly settings: Settings;
  readonly cutoff: Cutoff;
}

export interface Database<Pool, Connection extends Lent> {
  /** @throws FenceError INVALID_ARGUMENT */
  readonly checkPool: (pool: unknown) => void;
  readonly open: (of: Opened<Pool>) => Promise<FencedSession<Connection>>;
}

export async function installOn<Pool, Connection extends Lent>(
  database: Database<Pool, Connection>,
  of: Arguments<Pool>,
): Promise<void> {
  await inSession('install', database, of, (session) => session.install());
}

export async function fenceOn<Pool, Connection extends Lent, Result>(
  database: Database<Pool, Connection>,
  of: Arguments<Pool>,
  body: (tx: Connection) => Promise<Result>,
): Promise<Result> {
  checkBody(body);
  return await inSession('fence', database, of, async (session, cutoff) => {
    const { borrowed } = session;
    await session.enter();
    const result = await told(cutoff.race(body(borrowed.guard.tx)), (error) => session.failureOfBody(error));
    borrowed.guard.close();
    if (borrowed.lost !== undefined) throw session.failureOfBody(borrowed.lost);
    cutoff.throwIfAborted();
    of.holder.assertHeld?.();
    await session.commit();
    return result;
  });
}

async function inSession<Pool, Connection extends Lent, Result>(
  what: 'fence' | 'install',
  database: Database<Pool, Connection>,
  of: Arguments<Pool>,
  run: (session: FencedSession<Connection>, cutoff: Cutoff) => Promise<Result>,
): Promise<Result> {
  const settings = settingsOf(what, of);
  database.checkPool(of.pool);
  return await withCutoff(of.holder, of.options.signal, async (cutoff) => {
    const session = await database.open({ ...of, settings, cutoff });
    try {
      return await run(session, cutoff);
    } finally {
      session.borrowed.guard.close();
      // A statement may be under way where a signal came.
      session.borrowed.giveBack(!cutoff.aborted && (await session.rollBack()));
    }
  });
}
