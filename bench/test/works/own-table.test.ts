import { describe, expect, it } from 'vitest';

import { LOCK_KINDS } from '../../src/generator/clients/sdk-lock-kinds.ts';
import {
  CLIENT_LOCK_ROWS,
  ELECTIONS_ROW,
  LOCK_KIND_ROWS,
  SDK_SESSIONS,
  sdkRows,
  waitersRows,
} from '../../src/works/own-table.ts';

describe('the rows of our own system', () => {
  const rows = [...LOCK_KIND_ROWS, ...SDK_SESSIONS.flatMap((sessions) => sdkRows(sessions)), ...waitersRows(10_000)];

  it('are named once, and compared with one of them', () => {
    const names = [...rows, ...CLIENT_LOCK_ROWS, ELECTIONS_ROW].map(({ work }) => work);
    names.push(...SDK_SESSIONS.flatMap((sessions) => sdkRows(sessions)).map(({ clientWork }) => clientWork));
    expect(new Set(names).size).toBe(names.length);
    for (const { work, target } of rows) {
      if (target === undefined) continue;
      expect(names).toContain(target.baseline);
      expect(target.baseline).not.toBe(work);
    }
  });

  it('have every kind of lock, none slower by more than 15 % than the exclusive one, and two at once by less than 40 %', () => {
    expect(LOCK_KIND_ROWS.map(({ kind }) => kind)).toEqual(LOCK_KINDS);
    for (const { kind, target } of LOCK_KIND_ROWS.slice(1))
      expect(target?.must, kind).toBe(kind === 'two-locks' ? 1.4 : 1.15);
  });
});
