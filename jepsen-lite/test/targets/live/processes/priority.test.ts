import { spawnSync } from 'node:child_process';
import { getPriority } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { goAhead, normalPriority } from '../../../../src/targets/live/processes/priority.ts';

const mayGoAhead = process.getuid?.() === 0;

let end = (): void => {};
afterEach(() => end());

/** Of a process that is started so now. */
function priorityOf(...before: readonly string[]): number {
  const [command, ...args] = [...before, process.execPath, '-p', 'os.getPriority()'];
  return Number(spawnSync(command, args, { encoding: 'utf8' }).stdout);
}

describe('a harness that goes ahead', () => {
  it.skipIf(!mayGoAhead)('is before the programs that it starts, until it ends that', () => {
    const before = getPriority();
    end = goAhead();
    expect(getPriority()).toBe(-10);
    expect(priorityOf()).toBe(-10);
    expect(priorityOf(...normalPriority())).toBe(0);
    end();
    expect(getPriority()).toBe(before);
  });

  it.skipIf(!mayGoAhead)('goes no further when it does so twice', () => {
    end = goAhead();
    goAhead()();
    expect(getPriority()).toBe(-10);
  });

  it('puts nothing before a command where it is as all others', () => {
    if (getPriority() >= 0) expect(normalPriority()).toEqual([]);
  });
});
