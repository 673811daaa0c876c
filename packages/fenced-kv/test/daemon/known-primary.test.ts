import { silentLogger } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { KnownPrimary } from '../../src/daemon/known-primary.ts';
import type { RegisteredReplica } from '../../src/replication/node/replica-registry.ts';

const world = (): SimWorld => new SimWorld({ seed: 1 });
const of = (version: number, epoch: number, primary: string) => ({ version, epoch, primary, inSync: [primary] });
const at = (url: string): RegisteredReplica => ({ directory: '', url });

function known(
  sim: SimWorld,
  find: (replica: string) => Promise<RegisteredReplica | undefined>,
): { readonly subject: KnownPrimary; readonly asked: string[] } {
  const asked: string[] = [];
  const subject = new KnownPrimary({
    clock: sim.host('kv').runtime.clock,
    logger: silentLogger,
    find: async (replica) => {
      asked.push(replica);
      return await find(replica);
    },
  });
  return { subject, asked };
}

describe('what a replica tells of its primary', () => {
  it('is that of the newest configuration, in whatever order it hears of them', async () => {
    const sim = world();
    const { subject } = known(sim, async (replica) => at(`http://${replica}`));
    subject.heard(of(9, 61, 'r2'));
    subject.heard(of(8, 57, 'r1'));
    await sim.complete(Promise.resolve());
    expect(subject.configuration).toEqual(of(9, 61, 'r2'));
    expect(subject.urlOf('r2')).toBe('http://r2');
    expect(subject.urlOf('r1')).toBeNull();
  });

  it('is asked for once in an epoch, and anew in the next', async () => {
    const sim = world();
    const { subject, asked } = known(sim, async (replica) => at(`http://${replica}`));
    for (const configuration of [of(8, 57, 'r1'), of(9, 57, 'r1'), of(10, 61, 'r1')]) subject.heard(configuration);
    await sim.complete(Promise.resolve());
    expect(asked).toEqual(['r1', 'r1']);
  });

  it('is asked for again until there is an answer, and not after the end', async () => {
    const sim = world();
    let fails = true;
    const { subject, asked } = known(sim, async (replica) => {
      if (fails) throw new Error('the ensemble cannot be reached');
      return at(`http://${replica}`);
    });
    const later = async (): Promise<void> =>
      await sim.complete(new Promise<void>((resolve) => sim.after(2_000, resolve)));
    subject.heard(of(8, 57, 'r1'));
    await later();
    expect(asked.length).toBeGreaterThan(1);
    expect(subject.urlOf('r1')).toBeNull();
    fails = false;
    await later();
    expect(subject.urlOf('r1')).toBe('http://r1');
    fails = true;
    subject.heard(of(9, 61, 'r2'));
    await sim.complete(Promise.resolve());
    subject.stop();
    const before = asked.length;
    await later();
    expect(asked).toHaveLength(before);
  });
});
