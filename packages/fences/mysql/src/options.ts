/** The options of the calls, and their checks: nothing is sent before all arguments are well-formed. */

import { checkHolder, checkOptionNames, checkScope, FenceError } from '@holdfast/fence';

export interface InstallOptions {
  /** Ends the call, besides the holder's own signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For how many milliseconds a first call of a holder waits for the transactions of older holders that are under way; then it rejects with
   * TIMEOUT, and nothing is installed. InnoDB counts whole seconds: it is rounded up. @default 30,000
   */
  readonly waitMs?: number | undefined;
}

export interface FenceOptions extends InstallOptions {
  /**
   * After so many milliseconds without a statement the server ends the transaction and its connection, so that a holder which is stopped in its
   * midst does not hinder the next one for longer. The server counts whole seconds: it is rounded up. @default 10,000
   */
  readonly idleMs?: number | undefined;
  /** Costs a statement more. @default that of the connection */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable' | undefined;
}

/** What `innodb_lock_wait_timeout` and `wait_timeout` take on every platform, in seconds. */
const MAX_SECONDS = 2_147_483;
const DEFAULT_WAIT_MS = 30_000;
const DEFAULT_IDLE_MS = 10_000;

const ISOLATION = {
  'read committed': 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED',
  'repeatable read': 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ',
  serializable: 'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE',
} as const;

export interface Settings {
  readonly signal: AbortSignal | undefined;
  readonly waitSeconds: number;
  readonly idleSeconds: number;
  /** The statement. */
  readonly isolation: string | undefined;
}

const INSTALL_OPTIONS = { signal: true, waitMs: true } as const;
const FENCE_OPTIONS = { ...INSTALL_OPTIONS, idleMs: true, isolation: true } as const;

/** @throws FenceError INVALID_ARGUMENT */
export function settingsOf(what: 'fence' | 'install', options: FenceOptions): Settings {
  checkOptionNames(what, options, what === 'fence' ? FENCE_OPTIONS : INSTALL_OPTIONS);
  const { signal, waitMs = DEFAULT_WAIT_MS, idleMs = DEFAULT_IDLE_MS, isolation } = options;
  if (isolation !== undefined && !Object.hasOwn(ISOLATION, isolation)) {
    throw invalid(`isolation is ${JSON.stringify(isolation)}; it is one of ${Object.keys(ISOLATION).join(', ')}`);
  }
  return {
    signal,
    waitSeconds: seconds('waitMs', waitMs),
    idleSeconds: seconds('idleMs', idleMs),
    isolation: isolation && ISOLATION[isolation],
  };
}

function seconds(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1 || value > MAX_SECONDS * 1_000) {
    const range = `a whole number of milliseconds from 1 to ${MAX_SECONDS * 1_000}`;
    throw invalid(`${name} is ${String(value)}; it is ${range}`);
  }
  return Math.ceil(value / 1_000);
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkArguments(pool: unknown, scope: unknown, holder: unknown): void {
  checkPool(pool);
  checkScope(scope);
  checkHolder(holder);
}

/** Pools with callbacks have `promise`, clusters of pools have `of`, and connections have no `getConnection`. */
export function checkPool(pool: unknown): void {
  const is = typeof pool === 'object' && pool !== null && 'getConnection' in pool;
  if (is && !('promise' in pool) && !('of' in pool)) return;
  throw invalid(
    'the first argument is the pool of the application: what createPool of mysql2/promise gives, and no connection; ' +
      'of a pool with callbacks, pool.promise()',
  );
}

export function invalid(message: string): FenceError {
  return new FenceError('INVALID_ARGUMENT', message);
}
