import { randomStream } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { nemesisOf, type Fault } from '../../../src/nemeses/index.ts';
import { drawLiveScenario } from '../../../src/scenario/draw/live.ts';
import { drawPattern, isOfReplicas, PATTERNS } from '../../../src/scenario/draw/patterns.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';

const TIMES = { atMs: 2_000, forMs: 4_000 };
const names = PATTERNS.map(({ name }) => name);

function draw(name: string, servers: 3 | 5, seed = 1): readonly Fault[] {
  const workloads = isOfReplicas(name) ? { workloads: ['replicated-kv'] } : {};
  const plan = drawLiveScenario({ seed, servers, durationMs: 20_000, nemeses: [], ...workloads });
  return drawPattern(name, randomStream(seed, name), plan, TIMES);
}

/** Pairs of servers that reach each other in neither direction. */
function apart(faults: readonly Fault[]): Set<string> {
  const cuts = new Set(faults.flatMap((fault) => (fault.kind === 'cut' ? `${fault.from}>${fault.to}` : [])));
  return new Set([...cuts].filter((cut) => cuts.has(cut.split('>').toReversed().join('>'))));
}

describe('a pattern of faults', () => {
  it.each(names)('%s is made of the kinds that it names, within its time and two sessions', (name) => {
    const kinds: readonly string[] = PATTERNS.find((pattern) => pattern.name === name)?.kinds ?? [];
    for (const servers of [3, 5] as const) {
      const faults = draw(name, servers);
      expect(faults.length).toBeGreaterThan(0);
      expect(faults.filter(({ kind }) => !kinds.includes(kind))).toEqual([]);
      expect(faults.every(({ atMs }) => atMs >= 2_000 && atMs < 6_000)).toBe(true);
      expect(faults.every(({ kind }) => nemesisOf(kind) !== undefined)).toBe(true);
    }
    expect(nemesisOf(name)).toBeUndefined();
  });

  it('kills as many servers as its name says', () => {
    const killed = (name: string, servers: 3 | 5) =>
      draw(name, servers).map((fault) => (fault.kind === 'kill' ? fault.hosts.length : 0));
    expect([killed('kill-minority', 3), killed('kill-majority', 3), killed('kill-all', 3)]).toEqual([[1], [2], [3]]);
    expect([killed('kill-minority', 5), killed('kill-majority', 5), killed('kill-all', 5)]).toEqual([[2], [3], [5]]);
  });

  it('takes what was not synced from as many servers as its name says, at once', () => {
    const struck = (name: string, servers: 3 | 5) =>
      draw(name, servers).map((fault) => (fault.kind === 'crash' && fault.tear === 'none' ? fault.hosts.length : 0));
    expect([struck('power-loss-majority', 3), struck('power-loss-all', 3)]).toEqual([[2], [3]]);
    expect([struck('power-loss-majority', 5), struck('power-loss-all', 5)]).toEqual([[3], [5]]);
  });

  it('starts the server a second time that it has stopped', () => {
    const [stopped, second] = draw('start-while-stopped', 3);
    expect([stopped?.kind, second?.kind]).toEqual(['pause', 'second-start']);
    expect((second as { readonly host?: string }).host).toBe((stopped as { readonly host?: string }).host);
    expect(second?.atMs).toBeGreaterThan(stopped?.atMs ?? Infinity);
  });

  it('leaves every server of a ring a majority, and no two the same', () => {
    const cuts = apart(draw('majorities-ring', 5));
    const servers = [1, 2, 3, 4, 5].map((id) => `s${id}`);
    const reached = servers.map((one) => servers.filter((other) => !cuts.has(`${one}>${other}`)).join());
    expect(reached.map((hosts) => hosts.split(',').length)).toEqual([3, 3, 3, 3, 3]);
    expect(new Set(reached).size).toBe(5);
    expect(apart(draw('majorities-ring', 3)).size).toBe(2);
  });

  it('leaves one server of a bridge that reaches all, between two groups', () => {
    const cuts = apart(draw('bridge', 5));
    const reached = [1, 2, 3, 4, 5].map((id) => 4 - [...cuts].filter((cut) => cut.startsWith(`s${id}>`)).length);
    expect(reached.toSorted((a, b) => a - b)).toEqual([2, 2, 2, 2, 4]);
  });

  it('stops a process for half of the time, in pieces that do not meet', () => {
    for (const name of ['stutter-leader', 'stutter-holder']) {
      const pauses = draw(name, 3).filter((fault) => fault.kind === 'pause');
      const ends = pauses.map(({ atMs, forMs }) => atMs + forMs);
      expect(pauses.slice(1).every(({ atMs }, n) => atMs > (ends[n] ?? 0))).toBe(true);
      expect(pauses.reduce((sum, { forMs }) => sum + forMs, 0)).toBe(TIMES.forMs / 2);
    }
  });

  it('damages the log of one server only, however often', () => {
    const struck = Array.from({ length: 10 }, (_, turn) => {
      const plan = drawLiveScenario({ seed: 7, servers: 3, durationMs: 20_000, nemeses: [] });
      return drawPattern('damaged-log', randomStream(turn, 'turns'), plan, TIMES);
    }).flat();
    const hosts = struck.flatMap((fault) =>
      fault.kind === 'bit-flip' ? fault.host : fault.kind === 'crash' ? fault.hosts : [],
    );
    expect(new Set(hosts).size).toBe(1);
  });

  it('cuts one way only, from the leader or to it', () => {
    const ways = new Set(
      Array.from({ length: 20 }, (_, n) => draw('one-way', 3, n + 1)).map((faults) => {
        expect(apart(faults).size).toBe(0);
        return faults.every((fault) => fault.kind === 'cut' && fault.from === 'leader') ? 'unheard' : 'deaf';
      }),
    );
    expect(ways).toEqual(new Set(['unheard', 'deaf']));
  });

  it('strikes in a simulated world as on real processes', async () => {
    const nemeses = ['kill-majority', 'pause-holder', 'majorities-ring', 'flapping', 'rolling-restart'];
    const { failure, begun } = await runScenario(
      drawLiveScenario({ seed: 2, servers: 5, durationMs: 25_000, nemeses }),
    );
    expect(failure).toBeUndefined();
    expect([...begun.keys()].toSorted()).toEqual(['cut', 'kill', 'partition', 'pause', 'stop']);
  });

  it('of the members gives each server that joins a number of its own, and ends with transfers when all are used up', () => {
    const nemeses = ['member-churn', 'replace-disk', 'observer'];
    const { servers, faults } = drawLiveScenario({ seed: 3, servers: 3, durationMs: 120_000, nemeses });
    const added = faults.flatMap((fault) => (fault.kind === 'add-member' ? fault.server : []));
    expect(added).toEqual(Array.from({ length: 9 }, (_, n) => servers + n + 1));
    expect(faults.filter(({ kind }) => kind === 'lose-disk')).toHaveLength(1);
    const last = faults.findLastIndex(({ kind }) => kind === 'remove-member');
    expect(new Set(faults.slice(last + 1).map(({ kind }) => kind))).toEqual(new Set(['transfer-leadership']));
  });

  it('upgrades one server after another when one has gone and come back, and then stops them in turn', () => {
    for (const servers of [3, 5] as const) {
      const options = { seed: 5, servers, durationMs: 120_000, nemeses: ['rolling-upgrade'] };
      const { faults } = drawLiveScenario(options);
      const changes = faults.filter((fault) => fault.kind === 'change-version');
      const [first, back, ...upgrades] = changes;
      expect(changes.map(({ version }) => version)).toEqual(['newer', 'older', ...upgrades.map(() => 'newer')]);
      expect(first?.host).toBe(back?.host);
      const hosts = upgrades.map(({ host }) => host);
      expect(new Set(hosts.slice(0, servers))).toEqual(new Set(Array.from({ length: servers }, (_, n) => `s${n + 1}`)));
      expect(hosts[0]).toBe(first?.host);
      // Again, in the same order: whoever was down goes now.
      expect(hosts.slice(servers)).toEqual(hosts.slice(0, -servers));
      const stopped = faults.flatMap((fault) => (fault.kind === 'stop' ? fault.host : []));
      expect(stopped).toEqual(hosts.slice(servers));
      expect(stopped.length).toBeGreaterThan(servers);
    }
  });

  it('leaves a simulated ensemble that lost its power all that it had acknowledged', async () => {
    const nemeses = ['power-loss-majority', 'power-loss-all'];
    const { failure, struck } = await runScenario(
      drawLiveScenario({ seed: 3, servers: 3, durationMs: 8_000, nemeses }),
    );
    expect(failure).toBeUndefined();
    expect(struck.get('crash')).toBeGreaterThanOrEqual(2 + 3);
  });
});
