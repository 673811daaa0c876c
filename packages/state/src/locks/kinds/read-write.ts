/**
 * Readers together, or one writer. The queue is fair to both: a reader that comes behind a writer waits for it, and all readers up to the
 * next writer are granted together.
 */

import { lockKind, type LockKind } from './lock-kind.ts';

export const readWrite: LockKind = lockKind('readWrite', {
  since: 4,
  share: () => 1,
  // Those who hold together are all readers.
  mayJoin: ({ first }, { mode }) => first === undefined || (mode === 'read' && first.request.mode === 'read'),
  conversionProblem: (held, { mode }) => {
    if (held.mode === mode) return `it is held for ${mode === 'read' ? 'reading' : 'writing'} already`;
    return mode === 'read'
      ? undefined
      : 'a hold for reading cannot become one for writing: two readers who both want that would wait for each other for ever; ' +
          'release it, acquire for writing, and look again at what was read';
  },
});
