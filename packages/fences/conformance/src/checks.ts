/** What a case asks of a resource, with messages that say what went wrong and what it would do to somebody's data. */

import type { Holder } from '@holdfast/fence';
import type { FencedResource } from './resource.ts';

/** The resource broke the rule that a case is about. */
export class ConformanceError extends Error {
  override readonly name: string = 'ConformanceError';
}

/** The bound on one call: for what hangs. */
const CALL_TIMEOUT_MS = 30_000;

export type Outcome = { readonly accepted: true } | { readonly accepted: false; readonly error: unknown };

/** @throws ConformanceError unless the condition holds */
export function expectThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ConformanceError(message);
}

/** Rejects where the call takes so long that it can only hang. */
export async function inTime<T>(what: string, call: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new ConformanceError(`${what} has not ended after ${CALL_TIMEOUT_MS / 1_000} s: is it deadlocked?`);
    timer = setTimeout(() => reject(error), CALL_TIMEOUT_MS);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What became of a call. A refusal is an outcome; every other error is the resource's failure. */
export async function outcomeOf(what: string, call: () => Promise<unknown>): Promise<Outcome> {
  try {
    await inTime(what, call);
    return { accepted: true };
  } catch (error) {
    if (isRefusal(error)) return { accepted: false, error };
    throw error instanceof ConformanceError ? error : unexpected(what, error);
  }
}

export async function expectAccepted(what: string, call: () => Promise<unknown>): Promise<void> {
  const outcome = await outcomeOf(what, call);
  if (outcome.accepted) return;
  throw new ConformanceError(`${what} was refused: ${textOf(outcome.error)}`, { cause: outcome.error });
}

export async function expectRefused(what: string, call: () => Promise<unknown>): Promise<void> {
  const { accepted } = await outcomeOf(what, call);
  expectThat(!accepted, `${what} was accepted, though a newer holder has been there`);
}

export async function expectValue(
  resource: FencedResource,
  scope: string,
  expected: string | null,
  why: string,
  { holder, cell }: { readonly holder?: Holder; readonly cell?: string } = {},
): Promise<void> {
  const value = await inTime('a read', () => resource.read(scope, holder, cell));
  expectThat(value === expected, `a read gave ${shown(value)} instead of ${shown(expected)}: ${why}`);
}

export function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

export function isRefusal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return [code, name].some((text) => typeof text === 'string' && /^(STALE_TOKEN|StaleToken)/.test(text));
}

function unexpected(what: string, error: unknown): ConformanceError {
  return new ConformanceError(`${what} failed: ${textOf(error)}`, { cause: error });
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : shown(error);
}

/** Waits for all, also where one has failed: nothing of a case goes on behind it. Rejects with the first failure then. */
export async function together<T>(calls: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(calls);
  return await Promise.all(calls);
}

/** Long enough for a resource to come to where it waits, or to do what it must not. No case depends on it to be right. */
export async function moment(): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, 100);
  });
}
