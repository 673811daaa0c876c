/** What the commands of a run are about: few of each, so that they meet. */

/** In no order of names, and such that each is encoded otherwise in a path. */
export const LOCKS = ['b', 'a/1', '..'] as const;
/** One that is read and written, and one that has permits. */
export const READ_WRITE = 'rw';
export const PERMITS = 's/2';
export const PATHS = ['/p', '/q', '/p/x', '/p/y', '/q/x', '/p/x/z'] as const;

export const BAD_LOCKS = ['', '\ufffd', '\ud800'] as const;
export const BAD_PATHS = ['p', '/p//x', '/p/../q', '/p/', '', '/\u0000', '/none/\u0000'] as const;
export const RESERVED_PATHS = [
  '/holdfast',
  '/holdfast/new',
  '/holdfast/locks',
  '/holdfast/locks/b',
  '/holdfast/locks/new',
  '/holdfast/locks/b/q-0000000000',
  '/holdfast/locks/b/new',
  '/',
] as const;

/** One of several by any number. */
export function choose<T>(items: readonly [T, ...T[]], pick: number): T;
export function choose<T>(items: readonly T[], pick: number): T | undefined;
export function choose<T>(items: readonly T[], pick: number): T | undefined {
  return items.length === 0 ? undefined : items[pick % items.length];
}
