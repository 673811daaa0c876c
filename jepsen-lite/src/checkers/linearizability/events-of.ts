/** The events of a recorded run that an operation was made of: its call and its answer, if it has one. */

import type { Operation } from '../../history/operations/operation.ts';

export function eventsOf(operation: Operation | undefined): { readonly seq: number }[] {
  if (operation === undefined) return [];
  return [operation.invokedAt, operation.returnedAt].filter(Number.isFinite).map((seq) => ({ seq }));
}
