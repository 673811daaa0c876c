import type { NodeSlot } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { lastingTraces } from '../../src/watches/lasting-traces.ts';
import { CHILDREN, DATA, PERSISTENT, RECURSIVE } from '../../src/watches/watch-kinds.ts';

const NODE = 1 as NodeSlot;

function traces(kind: number, existed: boolean, stat?: readonly [czxid: number, mzxid: number, pzxid: number]) {
  const [czxid = 0, mzxid = 0, pzxid = 0] = stat ?? [];
  const rest = { ctime: 0, mtime: 0, version: 0, cversion: 0, aversion: 0, ephemeralOwner: 0, dataLength: 0 };
  const tree = { stat: () => ({ czxid, mzxid, pzxid, ...rest, numChildren: 0 }) };
  return lastingTraces(kind, { existed, node: stat === undefined ? undefined : NODE, from: 10 }, tree);
}

describe('what a node shows of what has happened behind an index', () => {
  it.each([
    ['that nothing has', PERSISTENT, true, [3, 10, 10], []],
    ['that it was created', PERSISTENT, false, [11, 11, 11], ['created']],
    ['that it is another one', PERSISTENT, true, [11, 12, 13], ['created']],
    ['its data and children', PERSISTENT, true, [3, 11, 12], ['changed', 'children']],
    ['its data to who asks for these', DATA, true, [3, 11, 12], ['changed']],
    ['its children to who asks for these', CHILDREN, true, [3, 11, 12], ['children']],
    ['that those children are gone', CHILDREN, true, [11, 11, 11], ['deleted']],
    ['nothing of children to who waits for it', CHILDREN, false, [11, 11, 11], []],
    ['that it is gone', DATA, true, undefined, ['deleted']],
    ['nothing, where it was not and is not', DATA, false, undefined, []],
    ['nothing of what is below it', RECURSIVE, true, [11, 12, 13], []],
  ] as const)('%s', (_, kind, existed, stat, expected) => {
    expect(traces(kind, existed, stat)).toEqual(expected);
  });
});
