/** The options of the calls, and their checks: nothing is sent before all arguments are well-formed. */

import { checkHolder, checkOptionNames, checkScope, FenceError } from '@holdfast/fence';

export interface InstallOptions {
  /** Ends the call, besides the holder's own signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For how many milliseconds a first call of a holder waits for the transactions of older holders that are under way; then it rejects with
   * TIMEOUT, and nothing is installed. @default 30,000
   */
  readonly waitMs?: number | undefined;
}

export interface FenceOptions extends InstallOptions {
  /**
   * After so many milliseconds without a statement the server ends the transaction, so that a holder which is stopped in its midst does not
   * hinder the next one for longer. @default 10,000
   */
  readonly idleMs?: number | undefined;
  /**
   * Above READ COMMITTED a transaction may be refused with SQLSTATE 40001, as without a fence. @default 'read committed'
   */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable' | undefined;
}

/** The longest time that PostgreSQL takes. */
const MAX_MS = 2 ** 31 - 1;
const DEFAULT_WAIT_MS = 30_000;
const DEFAULT_IDLE_MS = 10_000;

const BEGIN = {
  'read committed': 'BEGIN ISOLATION LEVEL READ COMMITTED',
  'repeatable read': 'BEGIN ISOLATION LEVEL REPEATABLE READ',
  serializable: 'BEGIN ISOLATION LEVEL SERIALIZABLE',
} as const;

export interface Settings {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  readonly idleMs: number;
  /** The statement. */
  readonly begin: string;
}

const INSTALL_OPTIONS = { signal: true, waitMs: true } as const;
const FENCE_OPTIONS = { ...INSTALL_OPTIONS, idleMs: true, isolation: true } as const;

/** @throws FenceError INVALID_ARGUMENT */
export function settingsOf(what: 'fence' | 'install', options: FenceOptions): Settings {
  checkOptionNames(what, options, what === 'fence' ? FENCE_OPTIONS : INSTALL_OPTIONS);
  const { signal, waitMs = DEFAULT_WAIT_MS, idleMs = DEFAULT_IDLE_MS, isolation = 'read committed' } = options;
  for (const [name, value] of Object.entries({ waitMs, idleMs })) {
    if (Number.isInteger(value) && value >= 1 && value <= MAX_MS) continue;
    throw invalid(`${name} is ${String(value)}; it is a whole number of milliseconds from 1 to ${MAX_MS}`);
  }
  if (!Object.hasOwn(BEGIN, isolation)) {
    throw invalid(`isolation is ${JSON.stringify(isolation)}; it is one of ${Object.keys(BEGIN).join(', ')}`);
  }
  return { signal, waitMs, idleMs, begin: BEGIN[isolation] };
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkArguments(pool: unknown, scope: unknown, holder: unknown): void {
  checkPool(pool);
  checkScope(scope);
  checkHolder(holder);
}

/** A client has `connect` as well, and would be connected before anybody noticed. */
export function checkPool(pool: unknown): void {
  const is = typeof pool === 'object' && pool !== null && 'connect' in pool && 'totalCount' in pool;
  if (!is) throw invalid('the first argument is the pool of the application: a Pool of pg, and no Client of it');
}

export function invalid(message: string, cause?: unknown): FenceError {
  return new FenceError('INVALID_ARGUMENT', message, { cause });
}
