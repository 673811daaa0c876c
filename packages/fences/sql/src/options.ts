/** The options of the calls, and their checks: nothing is sent before all arguments are well-formed. */

import type { Holder } from '@holdfast/fence';
import { checkCall, checkMs, chosen } from '@holdfast/fence/adapter';

export interface InstallOptions {
  /** Ends the call, besides the holder's own signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For how many milliseconds a first call of a holder waits for the transactions of older holders that are under way; then it rejects with
   * TIMEOUT, and nothing is installed. MySQL and MariaDB count whole seconds: it is rounded up. @default 30,000
   */
  readonly waitMs?: number | undefined;
}

export interface FenceOptions extends InstallOptions {
  /**
   * After so many milliseconds without a statement the server ends the transaction and its connection, so that a holder which is stopped in its
   * midst does not hinder the next one for longer. MySQL and MariaDB count whole seconds: it is rounded up. @default 10,000
   */
  readonly idleMs?: number | undefined;
  /**
   * Above READ COMMITTED, PostgreSQL may refuse a transaction with SQLSTATE 40001, as it does without a fence. On MySQL and MariaDB it costs
   * a statement more. @default 'read committed' on PostgreSQL, that of the connection on MySQL and MariaDB
   */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable' | undefined;
}

/** What databases take on every platform: MySQL has it as 2,147,483 seconds. */
const MAX_MS = 2_147_483_000;
const DEFAULT_WAIT_MS = 30_000;
const DEFAULT_IDLE_MS = 10_000;

const LEVELS = {
  'read committed': 'READ COMMITTED',
  'repeatable read': 'REPEATABLE READ',
  serializable: 'SERIALIZABLE',
} as const;

export interface Settings {
  readonly waitMs: number;
  readonly idleMs: number;
  /** As SQL has it. */
  readonly level: (typeof LEVELS)[keyof typeof LEVELS] | undefined;
}

const INSTALL_OPTIONS = { signal: true, waitMs: true } as const;
const FENCE_OPTIONS = { ...INSTALL_OPTIONS, idleMs: true, isolation: true } as const;

export interface Arguments<Pool> {
  readonly pool: Pool;
  readonly scope: string;
  readonly holder: Holder;
  readonly options: FenceOptions;
}

/** @throws FenceError INVALID_ARGUMENT */
export function settingsOf(what: 'fence' | 'install', of: Arguments<unknown>): Settings {
  checkCall(what, of, what === 'fence' ? FENCE_OPTIONS : INSTALL_OPTIONS);
  const { waitMs = DEFAULT_WAIT_MS, idleMs = DEFAULT_IDLE_MS, isolation } = of.options;
  checkMs('waitMs', waitMs, MAX_MS);
  checkMs('idleMs', idleMs, MAX_MS);
  return { waitMs, idleMs, level: isolation === undefined ? undefined : chosen('isolation', isolation, LEVELS) };
}
