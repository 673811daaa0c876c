/** What comes out in order must not owe it to the order of insertion: a replica restored from a snapshot inserts in another. */

import { MUTEX } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { NO_OPTIONS } from '../../src/locks/acquire-options.ts';
import { mutex } from '../../src/locks/kinds/mutex.ts';
import { Lock, QueuedAcquire } from '../../src/locks/lock.ts';
import { SessionAcquires } from '../../src/locks/session-acquires.ts';
import { STATE_LIMITS } from '../../src/limits.ts';
import { Capture } from '../../src/snapshot/capture.ts';
import { SessionTable } from '../../src/sessions/session-table.ts';
import type { Session } from '../../src/sessions/session.ts';
import type { NodeSlot } from '../../src/tree/node-store.ts';

function add(table: SessionTable, id: number): Session {
  return table.create({ id, secretHash: `hash ${id}`, timeoutMs: 10_000, label: '', createdAt: 0, server: 1 });
}

describe('sessions that were inserted in any order', () => {
  it('come by id', () => {
    const table = new SessionTable(new Capture(), STATE_LIMITS);
    for (const id of [10, 9, 100, 1]) add(table, id);
    expect(table.inOrder().map(({ id }) => id)).toEqual([1, 9, 10, 100]);
  });
});

describe('acquires that were inserted in any order', () => {
  it('come by acquire index', () => {
    const session = add(new SessionTable(new Capture(), STATE_LIMITS), 1);
    const lock = new Lock('l', mutex, 1 as NodeSlot);
    const acquires = new SessionAcquires<QueuedAcquire>();
    for (const index of [10, 9, 100, 2])
      acquires.add(new QueuedAcquire(session, acquires, lock, MUTEX, index, 2 as NodeSlot, NO_OPTIONS));
    expect(acquires.inOrder().map(({ acquireIndex }) => acquireIndex)).toEqual([2, 9, 10, 100]);
  });
});
