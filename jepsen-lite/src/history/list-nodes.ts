/**
 * Lists that are kept in nodes, each as the text of its elements with a space between two. An element is appended by a `set` of the whole
 * list that demands the version that was read, so that its last element is the new one. Each call appends an element of its own.
 */

import type { Call, InvokeOf } from './calls.ts';

const PREFIX = '/list-';
const SEPARATOR = ' ';

/** One of several lists; a new one begins with each number of `round`, so that none becomes long. */
export function listPath(list: number, round: number): string {
  return `${PREFIX}${list}-${round}`;
}

export function isListPath(path: string): boolean {
  return path.startsWith(PREFIX);
}

/** `element` holds no space, and is not empty. */
export function withElement(list: string, element: string): string {
  return list === '' ? element : `${list}${SEPARATOR}${element}`;
}

export function elementsOf(list: string): readonly string[] {
  return list === '' ? [] : list.split(SEPARATOR);
}

export function lengthOf(list: string): number {
  return elementsOf(list).length;
}

/** Whether the first list is the other one, or the beginning of it. */
export function isPrefix(list: string, of: string): boolean {
  return list === '' || list === of || of.startsWith(`${list}${SEPARATOR}`);
}

/** The element that a write of a whole list appends. */
export function appendedBy({ value }: Pick<InvokeOf<'set'>, 'value'>): string {
  return value.slice(value.lastIndexOf(SEPARATOR) + 1);
}

export type ListCall = Call<'create' | 'set' | 'read'>;
