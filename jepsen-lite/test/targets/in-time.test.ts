import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { inTime } from '../../src/targets/hang.ts';

const LIMIT_MS = 100;

/** Nothing else runs in this process meanwhile. */
function holdUp(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

describe('a limit of the harness', () => {
  it('lets that count which has come while the harness itself was held up for longer', async () => {
    const child = spawn('sh', ['-c', 'echo done; cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const said = once(child.stdout, 'data').then(([data]) => String(data));
    const answer = inTime(said, LIMIT_MS);
    holdUp(10 * LIMIT_MS);
    expect(await answer).toBe('done\n');
    child.stdin.end();
    await once(child, 'exit');
  });

  it('is over for what never comes', async () => {
    expect(await inTime(new Promise(() => {}), LIMIT_MS)).toBeUndefined();
  });

  it('leaves no timer behind when it is kept', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    expect(await inTime(Promise.resolve('now'), 3_600_000)).toBe('now');
    expect(timers()).toBe(before);
  });
});
