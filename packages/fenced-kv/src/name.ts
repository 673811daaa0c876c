/** Names of buckets and keys, and the grammar of a token: what may be asked for, checked at the edge. */

import type { Claim } from './fence.ts';
import { MAX_BUCKET_NAME_LENGTH, MAX_KEY_BYTES, MAX_LOCK_NAME_LENGTH, TOKEN_BOUND } from './limits.ts';
import { invalidArgument, limitExceeded } from './refusal.ts';

const BUCKET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const DIGITS = /^[0-9]{1,16}$/;
const encoder = new TextEncoder();

export function assertBucketName(name: string): void {
  if (name.length > MAX_BUCKET_NAME_LENGTH) {
    throw limitExceeded(
      'bucket',
      MAX_BUCKET_NAME_LENGTH,
      `a bucket's name has at most ${MAX_BUCKET_NAME_LENGTH} characters`,
    );
  }
  if (!BUCKET_NAME.test(name)) {
    throw invalidArgument(
      'bucket',
      `${JSON.stringify(name)} is not a bucket's name: letters, digits, ".", "_" and "-", beginning with a letter or digit`,
    );
  }
}

/** What no lock can be called; which names else there are, the ensemble says. */
export function assertLockName(name: string): void {
  if (name.length > MAX_LOCK_NAME_LENGTH) {
    throw limitExceeded('lock', MAX_LOCK_NAME_LENGTH, `a lock's name has at most ${MAX_LOCK_NAME_LENGTH} characters`);
  }
  if (name === '' || /[\p{Surrogate}\p{Cc}]/u.test(name)) {
    const what = `${JSON.stringify(name)} is not a lock's name`;
    throw invalidArgument('lock', `${what}: text without control characters, as client.lock(name) takes it`);
  }
}

/** The key's UTF-8, after checking it. */
export function encodeKey(key: string): Uint8Array {
  if (key === '') throw invalidArgument('key', 'a key has at least one character');
  // URL parsers drop these two as path segments, so over HTTP they would name something else.
  if (key === '.' || key === '..')
    throw invalidArgument('key', `"${key}" cannot be a key: it has a meaning of its own in URLs`);
  const plain = asciiOf(key);
  if (plain === undefined && /\p{Surrogate}/u.test(key))
    throw invalidArgument('key', 'a key is text that UTF-8 can express (no lone surrogates)');
  const bytes = plain ?? encoder.encode(key);
  if (bytes.length > MAX_KEY_BYTES) {
    throw limitExceeded(
      'key',
      MAX_KEY_BYTES,
      `a key has at most ${MAX_KEY_BYTES} bytes in UTF-8; this one has ${bytes.length}`,
    );
  }
  return bytes;
}

/** Most keys are, and are encoded faster so. Undefined for another one, or one that is too long. */
function asciiOf(text: string): Uint8Array | undefined {
  if (text.length > MAX_KEY_BYTES) return undefined;
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return undefined;
    bytes[at] = code;
  }
  return bytes;
}

function isToken(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

export function assertToken(token: number): void {
  if (!isToken(token)) {
    throw invalidArgument(
      'token',
      `${String(token)} is not a token: an integer of at least 1 and below ${TOKEN_BOUND}`,
    );
  }
}

/** Decimal digits; a token's printed form with leading zeros is one. */
export function parseToken(text: string): number {
  const token = DIGITS.test(text) ? Number(text) : Number.NaN;
  if (!isToken(token)) {
    throw invalidArgument(
      'token',
      `${JSON.stringify(text)} is not a token: decimal digits, at least 1 and below ${TOKEN_BOUND}`,
    );
  }
  return token;
}

/** Decimal digits; 0 is one, and fences nobody off. */
export function parseFloor(text: string): number {
  const floor = DIGITS.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(floor)) {
    throw invalidArgument('floor', `${JSON.stringify(text)} is not a floor: decimal digits, below ${TOKEN_BOUND}`);
  }
  return floor;
}

/** What a holder says of itself; undefined where it says nothing. Without a floor the token is it. */
export function claimOf(token: number | undefined, floor: number | undefined): Claim | undefined {
  if (token === undefined) {
    if (floor === undefined) return undefined;
    throw invalidArgument('floor', 'a floor comes with the token of its holder; send the token, too');
  }
  assertToken(token);
  if (floor === undefined) return { token, floor: token };
  if (!Number.isSafeInteger(floor) || floor < 0 || floor > token) {
    const what = `${String(floor)} is not a floor of token ${token}`;
    throw invalidArgument('floor', `${what}: an integer from 0 to the token, the lowest under which the lock is held`);
  }
  return { token, floor };
}
