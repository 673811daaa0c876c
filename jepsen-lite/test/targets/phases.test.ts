import { describe, expect, it } from 'vitest';
import type { Violation } from '../../src/checkers/violation.ts';
import type { HistoryEvent, HistoryEventBody } from '../../src/history/history.ts';
import { HistoryRecorder } from '../../src/history/recorder.ts';
import type { Capabilities, Done, Effect } from '../../src/nemeses/target.ts';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import type { Scenario } from '../../src/scenario/scenario.ts';
import { HangError } from '../../src/targets/hang.ts';
import { judge, QUIET_MS, RECOVERY_MS, runOn, type RunningClient, type RunTarget } from '../../src/targets/phases.ts';

/** Knows links only. Its clock goes when it is waited for; what it does takes time, as with real processes. */
class FakeTarget implements RunTarget {
  readonly log: string[] = [];
  readonly struck = new Map<Effect, number>();
  readonly recorder = new HistoryRecorder();
  readonly links: Capabilities['links'];
  readonly clients: readonly RunningClient[] = [this];
  /** Rounds that its client completes in a second. */
  speed = 1;
  stopping = false;
  violation: Violation | undefined;
  mustStrike?: true;
  serving?: () => boolean;
  #rounds = 0;
  #nowMs = 0;
  readonly #timers: { atMs: number; action: () => void }[] = [];

  constructor() {
    this.links = {
      cut: (from, to) => this.#take(`cut ${from}>${to}`),
      mend: (from, to) => this.#take(`mend ${from}>${to}`),
      setPacketLoss: (share) => this.#take(`drop ${share}`),
    };
  }

  /** It is its own client. */
  get rounds(): number {
    return Math.floor(this.#rounds);
  }

  get idle(): boolean {
    return this.stopping && this.speed > 0;
  }

  get history(): readonly HistoryEvent[] {
    return this.recorder.events;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  async start(): Promise<void> {
    await this.#take('start');
  }

  async heal(): Promise<void> {
    await this.#take('heal');
  }

  async canary(): Promise<void> {
    await this.#take('canary');
  }

  async afterRecovery(): Promise<void> {
    await this.#take('after recovery');
  }

  async afterQuiet(): Promise<void> {
    await this.#take('after quiet');
  }

  stopClients(): void {
    this.stopping = true;
    this.log.push('clients stop');
  }

  note(event: HistoryEventBody): void {
    this.recorder.record('harness', this.#nowMs, event);
    if (event.type === 'phase') this.log.push(`phase ${event.phase}`);
  }

  fail(name: string, message: string): void {
    this.violation ??= { name, message };
  }

  describe(): string {
    return 'all as it should be';
  }

  hostOf(name: string): string {
    return name;
  }

  after(ms: number, action: () => void): void {
    this.#timers.push({ atMs: this.#nowMs + ms, action });
  }

  faultBegins(kind: string): void {
    this.log.push(`${kind} begins`);
  }

  faultEnded(kind: string): void {
    this.log.push(`${kind} ended`);
  }

  failed(error: unknown): void {
    this.fail('a-fault', String(error));
  }

  async runUntil(condition: () => boolean, maxMs: number): Promise<boolean> {
    const endMs = this.#nowMs + maxMs;
    while (this.#nowMs < endMs && !condition() && this.violation === undefined) {
      this.#nowMs += 100;
      this.#rounds += this.speed / 10;
      for (const timer of this.#timers.filter(({ atMs }) => atMs <= this.#nowMs)) {
        this.#timers.splice(this.#timers.indexOf(timer), 1);
        timer.action();
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    return this.violation === undefined && condition();
  }

  async #take(what: string): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.log.push(what);
  }
}

const { faults: _, ...plan } = drawScenario(1);
const SCENARIO: Scenario = {
  ...plan,
  durationMs: 2_000,
  faults: [{ kind: 'cut', atMs: 500, forMs: 300, from: 's1', to: 's2' }],
};

describe('a run on a target whose deeds take time', () => {
  it('goes through its phases, and each waits for the one before', async () => {
    const target = new FakeTarget();
    const { begun } = await runOn(target, SCENARIO);
    expect(target.violation).toBeUndefined();
    expect(target.log).toEqual([
      'start',
      'phase faults',
      'cut begins',
      'cut s1>s2',
      'mend s1>s2',
      'cut ended',
      'heal',
      'phase healed',
      'canary',
      'after recovery',
      'clients stop',
      'phase quiet',
      'after quiet',
    ]);
    expect(begun.get('cut')).toBe(1);
    expect(judge(target, SCENARIO).map(({ checker }) => checker)).toContain('liveness');
  });

  it('leaves out what the target cannot suffer, by name, and says what did nothing', async () => {
    const target = new FakeTarget();
    const wallJump = { kind: 'wall-jump', atMs: 1, host: 's1', byMs: 5 } as const;
    const { leftOut, idle } = await runOn(target, { ...SCENARIO, faults: [...SCENARIO.faults, wallJump] });
    expect([...leftOut]).toEqual([['wall-jump', ['clocks']]]);
    expect(idle).toEqual(['cut']);
  });

  it('has another turn for a kind that has done nothing, where every kind must strike, alone and then with what was around it', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    const other = { kind: 'partition', atMs: 400, forMs: 500, groups: [['s1'], ['s2', 's3']] } as const;
    const far = { kind: 'partition', atMs: 6_000, forMs: 500, groups: [['s2'], ['s1', 's3']] } as const;
    const scenario = { ...SCENARIO, durationMs: 7_000, faults: [...SCENARIO.faults, other, far] };
    const { idle } = await runOn(target, scenario);
    const begun = target.log.filter((line) => line.endsWith('begins'));
    // As scheduled; then the cut alone and with the partition around it; then the same for the partition.
    expect(begun.map((line) => line.split(' ')[0])).toEqual([
      'partition',
      'cut',
      'partition',
      'cut',
      'partition',
      'cut',
      'partition',
      'partition',
      'cut',
    ]);
    expect(idle).toEqual(['cut', 'partition']);
  });

  it('gives nobody another turn before those who are down serve again', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    const scenario = { ...SCENARIO, durationMs: 7_000 };
    let servesAtMs = Infinity;
    target.serving = () => target.nowMs >= servesAtMs;
    const turns: number[] = [];
    const begins = target.faultBegins.bind(target);
    target.faultBegins = (kind) => {
      if (target.nowMs > scenario.durationMs) turns.push(target.nowMs);
      begins(kind);
    };
    servesAtMs = scenario.durationMs + 4_000;
    await runOn(target, scenario);
    expect(turns[0]).toBeGreaterThanOrEqual(servesAtMs);
    expect(turns[0]).toBeLessThan(servesAtMs + 1_000);
  });

  it('gives nobody another turn before operators are done, whom others have kept waiting', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    const scenario = {
      ...SCENARIO,
      durationMs: 7_000,
      faults: [...SCENARIO.faults, { kind: 'remove-member', atMs: 100, server: 1 } as const],
    };
    const doneAtMs = scenario.durationMs + 9_000;
    const remove = (): Promise<void> =>
      new Promise((resolve) => {
        target.after(doneAtMs - target.nowMs, () => {
          target.struck.set('member-removed', 1);
          resolve();
        });
      });
    Object.assign(target, { members: { remove } });
    const turns: number[] = [];
    const begins = target.faultBegins.bind(target);
    target.faultBegins = (kind) => {
      if (target.nowMs > scenario.durationMs) turns.push(target.nowMs);
      begins(kind);
    };
    await runOn(target, scenario);
    expect(turns[0]).toBeGreaterThanOrEqual(doneAtMs);
  });

  it('lets what a turn has begun go on before there is another one', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    Object.assign(target, { bounds: { recoveryMs: RECOVERY_MS, quietMs: RECOVERY_MS, faultsEndMs: 30_000 } });
    const { links } = target;
    const cuts: number[] = [];
    const cut = (): Promise<void> => {
      cuts.push(target.nowMs);
      // Seen long after it was asked for, as on a busy machine.
      return new Promise((resolve) => {
        target.after(6_000, () => {
          if (cuts.length === 2) target.struck.set('frame-held-by-cut', 1);
          resolve();
        });
      });
    };
    Object.assign(target, { links: { ...links, cut } });
    const { idle } = await runOn(target, SCENARIO);
    expect(idle).toEqual([]);
    expect(cuts.length).toBe(2);
    // The one that was scheduled had ended by then.
    expect(cuts[1]).toBeGreaterThanOrEqual((cuts[0] ?? 0) + 6_000);
  });

  it('gives nobody another turn before what the last one has done can be known', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    const bounds = { recoveryMs: RECOVERY_MS, quietMs: RECOVERY_MS, faultsEndMs: 30_000, seenMs: 3_000 };
    Object.assign(target, { bounds });
    const { links } = target;
    let cuts = 0;
    const cut = (from: string, to: string): Done => {
      cuts += 1;
      if (cuts === 2) target.after(bounds.seenMs + 500, () => target.struck.set('frame-held-by-cut', 1));
      return links?.cut(from, to);
    };
    Object.assign(target, { links: { ...links, cut } });
    const { idle } = await runOn(target, SCENARIO);
    expect([cuts, idle]).toEqual([2, []]);
  });

  it('waits for a fault that never ends no longer than faults have for their end', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    const faultsEndMs = 4_000;
    Object.assign(target, { bounds: { recoveryMs: RECOVERY_MS, quietMs: RECOVERY_MS, faultsEndMs } });
    const { links } = target;
    Object.assign(target, { links: { ...links, cut: () => new Promise<void>(() => {}) } });
    await runOn(target, SCENARIO);
    expect(target.violation?.name).toBe('every-fault-ends');
    // Two turns of 2.3 s, the waiting between them, and the time for faults to end when everything heals.
    expect(target.nowMs).toBeLessThan(SCENARIO.durationMs + 5_000 + 2 * faultsEndMs + 1_000);
  });

  it('gives no other kind a turn while one does not end, and says which that is', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    Object.assign(target, { bounds: { recoveryMs: RECOVERY_MS, quietMs: RECOVERY_MS, faultsEndMs: 4_000 } });
    const { links } = target;
    Object.assign(target, { links: { ...links, cut: () => new Promise<void>(() => {}) } });
    const faults = [...SCENARIO.faults, { kind: 'packet-loss', atMs: 7_000, forMs: 300, share: 0.5 } as const];
    await runOn(target, { ...SCENARIO, durationMs: 8_000, faults });
    expect(target.log.filter((line) => line === 'packet-loss begins')).toHaveLength(1);
    expect(target.violation).toMatchObject({ name: 'every-fault-ends', message: expect.stringContaining('cut') });
  });

  it('gives every kind its turns, however long they take together, while each fault ends', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    Object.assign(target, { bounds: { recoveryMs: RECOVERY_MS, quietMs: RECOVERY_MS, faultsEndMs: 4_000 } });
    const { links } = target;
    const mend = (): Promise<void> => new Promise((resolve) => target.after(3_500, resolve));
    Object.assign(target, { links: { ...links, mend } });
    const faults = [...SCENARIO.faults, { kind: 'packet-loss', atMs: 7_000, forMs: 300, share: 0.5 } as const];
    await runOn(target, { ...SCENARIO, durationMs: 8_000, faults });
    expect(target.log.filter((line) => line === 'packet-loss begins').length).toBeGreaterThan(1);
  });

  it('has no turn more for a kind as soon as it has struck', async () => {
    const target = new FakeTarget();
    target.mustStrike = true;
    const { links } = target;
    let cuts = 0;
    const cut = (from: string, to: string): Done => {
      cuts += 1;
      if (cuts === 2) target.struck.set('frame-held-by-cut', 1);
      return links?.cut(from, to);
    };
    Object.assign(target, { links: { ...links, cut } });
    const { idle } = await runOn(target, SCENARIO);
    expect(cuts).toBe(2);
    expect(idle).toEqual([]);
  });

  it('fails when a client has not worked again in time, and does not go on', async () => {
    const target = new FakeTarget();
    target.speed = 1.9 / (RECOVERY_MS / 1_000);
    await runOn(target, SCENARIO);
    expect(target.violation?.name).toBe('the-healed-cluster-works');
    expect(target.violation?.message).toContain('all as it should be');
    expect(target.log.at(-1)).toBe('canary');
    expect(target.nowMs).toBe(2_000 + RECOVERY_MS);
  });

  it('fails when a client does not end, and is not judged by its history then', async () => {
    const target = new FakeTarget();
    target.stopClients = () => (target.speed = 0);
    await runOn(target, SCENARIO);
    const verdicts = judge(target, SCENARIO);
    expect(target.violation?.name).toBe('every-call-ends');
    expect(target.nowMs).toBeGreaterThanOrEqual(2_000 + QUIET_MS);
    expect(target.log).not.toContain('after quiet');
    expect(verdicts).toEqual([]);
  });

  it.each(['start', 'heal', 'canary', 'afterRecovery', 'afterQuiet'] as const)(
    'ends at once when something is wrong (%s)',
    async (phase) => {
      const target = new FakeTarget();
      target[phase] = () => Promise.resolve(target.fail('what-is-wrong', phase));
      await runOn(target, SCENARIO);
      expect(target.violation).toEqual({ name: 'what-is-wrong', message: phase });
      expect(target.log.filter((line) => line.startsWith('after')).length).toBe(phase === 'afterQuiet' ? 1 : 0);
    },
  );

  it('fails when healing hangs, by the step that hangs and the faults that have not ended', async () => {
    const target = new FakeTarget();
    target.heal = () => Promise.reject(new HangError('healing the disk of s2', 90));
    const { links } = target;
    Object.assign(target, { links: { ...links, mend: () => new Promise(() => undefined) } });
    await runOn(target, SCENARIO);
    expect(target.violation).toEqual({
      name: 'healing-ends',
      message:
        'healing the disk of s2 has not ended within 90 ms; faults that have not ended by themselves: the end of cut of s1, s2',
    });
    expect(target.log).not.toContain('phase healed');
  });

  it('fails when a fault has not ended long after everything has healed, where that takes time', async () => {
    const target = new FakeTarget();
    const { links } = target;
    Object.assign(target, { links: { ...links, cut: () => new Promise(() => undefined) } });
    Object.assign(target, { bounds: { recoveryMs: 1_000, quietMs: 1_000, faultsEndMs: 500 } });
    await runOn(target, SCENARIO);
    expect(target.violation).toEqual({
      name: 'every-fault-ends',
      message: '500 ms after everything has healed: the beginning of cut of s1, s2',
    });
    expect(target.log).not.toContain('canary');
  });

  it('fails when a phase throws', async () => {
    const target = new FakeTarget();
    target.canary = () => Promise.reject(new Error('no route to s2'));
    await runOn(target, SCENARIO);
    expect(target.violation?.name).toBe('no-unexpected-error');
    expect(target.violation?.message).toContain('no route to s2');
  });

  it('fails by what its history shows, with the events that show it', async () => {
    const target = new FakeTarget();
    const read = { f: 'read', path: '/n', consistency: 'linearizable' } as const;
    target.afterQuiet = async () => {
      for (const call of [1, 1]) target.recorder.record('c1', 5, { type: 'invoke', call, ...read });
    };
    await runOn(target, SCENARIO);
    const verdicts = judge(target, SCENARIO);
    expect(target.violation?.name).toMatch(/^history: /);
    expect(target.violation?.message).toContain('"f":"read"');
    expect(verdicts.some(({ valid }) => valid === false)).toBe(true);
  });
});
