/**
 * What a fence needs of a held lock, and the rule in its terms. The resource keeps, for each scope, the highest floor that it was told. It
 * refuses every token below that. Of an exclusive lock the floor is the token; those who share a lock have one floor, the lowest token
 * that is still live, so that none of them fences another.
 */

import { FenceError } from './errors.ts';

/** Handles of `@holdfast/client` are such. */
export interface Holder {
  /** From 1 to 2^53 − 1: higher than that of every earlier grant of the lock. */
  readonly token: number;
  /** The lowest token that is still live on the lock (shared locks, semaphores). @default the token itself, as of an exclusive lock */
  readonly floor?: number | undefined;
  /** Aborts when the lock is lost. */
  readonly signal?: AbortSignal | undefined;
  /** Throws when the lock is not held any more, or may not be. */
  assertHeld?(): void;
}

/** The longest name of a scope, in bytes of UTF-8. */
const MAX_SCOPE_BYTES = 200;

/**
 * What the resource is told: the holder's floor, never above its token.
 *
 * @example
 * floorOf({ token: 9 }); // 9
 * floorOf({ token: 9, floor: 5 }); // 5
 */
export function floorOf(holder: Holder): number {
  return Math.min(holder.floor ?? holder.token, holder.token);
}

/**
 * @throws FenceError INVALID_ARGUMENT that says what is wrong with it
 *
 * @example
 * checkHolder(held);
 */
export function checkHolder(value: unknown): asserts value is Holder {
  if (typeof value !== 'object' || value === null) {
    throw invalid(`${shown(value)} is no holder: pass the held lock that acquire or withLock gave, or { token }`);
  }
  const { token, floor, signal, assertHeld } = value as { readonly [Name in keyof Holder]?: unknown };
  if (!isToken(token)) throw invalid(`${shown(token)} is no token of a holder: ${TOKENS}`);
  if (floor !== undefined) {
    if (!isToken(floor)) throw invalid(`${shown(floor)} is no floor of a holder: ${TOKENS}`);
    if (floor > token) {
      throw invalid(`the floor ${floor} is above the token ${token}: a holder below the floor holds the lock no more`);
    }
  }
  if (signal !== undefined && !isSignal(signal)) {
    throw invalid(`${shown(signal)} is no signal of a holder: pass an AbortSignal, or leave it out`);
  }
  if (assertHeld !== undefined && typeof assertHeld !== 'function') {
    throw invalid(`${shown(assertHeld)} is no assertHeld of a holder: pass a function, or leave it out`);
  }
}

/**
 * A scope is what must stay consistent together (`jobs`), and not a row of it. Its name has 1 to 200 bytes of UTF-8.
 *
 * @throws FenceError INVALID_ARGUMENT that says what is wrong with it
 *
 * @example
 * checkScope('jobs');
 */
export function checkScope(scope: unknown): asserts scope is string {
  if (typeof scope !== 'string') {
    throw invalid(`${shown(scope)} is no scope: name what must stay consistent together by a string such as "jobs"`);
  }
  if (scope === '') throw invalid('a scope needs a name: name what must stay consistent together, such as "jobs"');
  if (scope.includes('\0'))
    throw invalid(`the scope ${shown(scope)} has a U+0000, which databases refuse: leave it out`);
  if (/\p{Surrogate}/u.test(scope)) {
    throw invalid(`the scope ${shown(scope)} has half of a surrogate pair: cut texts between characters`);
  }
  const bytes = Buffer.byteLength(scope);
  if (bytes > MAX_SCOPE_BYTES) {
    throw invalid(`the scope ${shown(scope)} has ${bytes} bytes, at most ${MAX_SCOPE_BYTES}: shorten or hash it`);
  }
}

const TOKENS = 'a token is a whole number from 1 to 2^53 − 1, as the lock gives it (held.token)';

export function isToken(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

export function isSignal(value: unknown): value is AbortSignal {
  return typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
}

function invalid(message: string): FenceError {
  return new FenceError('INVALID_ARGUMENT', message);
}

/** Short enough for a message. */
const MAX_SHOWN = 60;

function shown(value: unknown): string {
  const text = textOf(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}
