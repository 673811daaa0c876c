import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/nemeses/index.ts';
import { Inflictor } from '../../src/nemeses/inflictor.ts';
import type { Capabilities, Effect, Target } from '../../src/nemeses/target.ts';

/** Has links and members only, as a target of real processes without root might; time passes when it is told to. */
class FakeTarget implements Target {
  readonly log: string[] = [];
  readonly hosts: string[] = [];
  readonly struck = new Map<Effect, number>();
  readonly #timers: { atMs: number; action: () => void }[] = [];
  readonly links: Capabilities['links'];
  readonly members: Capabilities['members'];
  leader: string | undefined = 's2';
  patienceMs = 0;
  #nowMs = 0;

  constructor(takes: (what: string) => Promise<void> | undefined) {
    const act = (what: string): Promise<void> | undefined => {
      this.log.push(what);
      return takes(what);
    };
    this.links = {
      cut: (from, to) => act(`cut ${from}>${to}`),
      mend: (from, to) => act(`mend ${from}>${to}`),
      setPacketLoss: (share) => act(`drop ${share}`),
    };
    this.members = {
      add: (server) => act(`add ${server}`),
      promote: (server) => act(`promote ${server}`),
      remove: (server) => act(`remove ${server}`),
      loseDisk: (server) => act(`lose the disk of ${server}`),
      transfer: (server) => act(`transfer to ${server}`),
    };
  }

  /** `gone` stands for whoever is left. */
  hostOf(name: string, taken: readonly string[] = []): string | undefined {
    if (name === 'gone') return ['s2', 's3'].find((host) => !taken.includes(host));
    return name === 'leader' ? this.leader : name;
  }

  after(ms: number, action: () => void): void {
    this.#timers.push({ atMs: this.#nowMs + ms, action });
  }

  faultBegins(kind: string, excuses: boolean, hosts: readonly string[]): void {
    this.hosts.push(`${hosts.join(', ')} begins`);
    this.log.push(`${kind} begins${excuses ? '' : ', and excuses nothing'}`);
  }

  faultEnded(kind: string, _excuses: boolean, hosts: readonly string[]): void {
    this.hosts.push(`${hosts.join(', ')} ended`);
    this.log.push(`${kind} ended`);
  }

  heal(): void {
    this.log.push('healed');
  }

  failed(error: unknown): void {
    this.log.push(`failed: ${String(error)}`);
  }

  /** Everything that is due until then, and what follows from it at once. */
  async pass(untilMs: number): Promise<void> {
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.atMs - b.atMs).find(({ atMs }) => atMs <= untilMs);
      if (next === undefined) break;
      this.#timers.splice(this.#timers.indexOf(next), 1);
      this.#nowMs = next.atMs;
      next.action();
      await Promise.resolve().then(() => Promise.resolve());
    }
    this.#nowMs = untilMs;
  }
}

const atOnce = (): undefined => undefined;
const cut = (atMs: number, from: string, to: string): Fault => ({ kind: 'cut', atMs, forMs: 100, from, to });

describe('a fault', () => {
  it('strikes whom its name stands for when it begins, and ends the same', async () => {
    const target = new FakeTarget(atOnce);
    const inflictor = new Inflictor(target);
    inflictor.schedule([cut(10, 'leader', 's1')]);
    await target.pass(5);
    target.leader = 's3';
    await target.pass(50);
    target.leader = 's1';
    await target.pass(200);
    expect(target.log).toEqual(['cut begins', 'cut s3>s1', 'mend s3>s1', 'cut ended']);
    expect(target.hosts).toEqual(['s3, s1 begins', 's3, s1 ended']);
    expect(inflictor.begun.get('cut')).toBe(1);
  });

  it('waits for whom its name stands for, where the target says for how long', async () => {
    const target = new FakeTarget(atOnce);
    target.patienceMs = 100;
    const inflictor = new Inflictor(target);
    target.leader = undefined;
    inflictor.schedule([cut(10, 'leader', 's1'), cut(500, 'leader', 's1')]);
    await target.pass(60);
    target.leader = 's3';
    await target.pass(300);
    expect(target.log).toEqual(['cut begins', 'cut s3>s1', 'mend s3>s1', 'cut ended']);
    target.leader = undefined;
    await target.pass(650);
    target.leader = 's3';
    await target.pass(900);
    expect(inflictor.begun.get('cut')).toBe(1);
  });

  it('is between two where one of its names stands for the other', async () => {
    const target = new FakeTarget(atOnce);
    new Inflictor(target).schedule([cut(10, 'leader', 'gone'), cut(500, 'gone', 's3')]);
    await target.pass(1_000);
    expect(target.log.filter((line) => line.startsWith('cut s'))).toEqual(['cut s2>s3', 'cut s2>s3']);
  });

  it('that nobody can suffer does nothing, and is not counted', async () => {
    const target = new FakeTarget(atOnce);
    const inflictor = new Inflictor(target);
    target.leader = undefined;
    inflictor.schedule([cut(10, 'leader', 's1'), cut(20, 's1', 's1')]);
    await target.pass(500);
    expect(target.log).toEqual([]);
    expect(inflictor.begun.size).toBe(0);
  });

  it('for which the target lacks a capability is left out, and named', async () => {
    const target = new FakeTarget(atOnce);
    const inflictor = new Inflictor(target);
    inflictor.schedule([{ kind: 'full-disk', atMs: 1, forMs: 1, host: 's1' }, cut(10, 's1', 's2')]);
    await target.pass(500);
    expect([...inflictor.leftOut]).toEqual([['full-disk', ['disks', 'processes']]]);
    expect(inflictor.begun.get('full-disk')).toBeUndefined();
    expect(inflictor.begun.get('cut')).toBe(1);
  });

  it('that takes time to begin lasts from when it has begun', async () => {
    let begun = (): void => {};
    const target = new FakeTarget((what) =>
      what.startsWith('cut') ? new Promise((resolve) => (begun = resolve)) : undefined,
    );
    new Inflictor(target).schedule([cut(10, 's1', 's2')]);
    await target.pass(1_000);
    expect(target.log).toEqual(['cut begins', 'cut s1>s2']);
    begun();
    await target.pass(1_050);
    await target.pass(1_099);
    expect(target.log).not.toContain('mend s1>s2');
    await target.pass(1_200);
    expect(target.log.slice(2)).toEqual(['mend s1>s2', 'cut ended']);
  });

  it('that cannot be begun fails the run', async () => {
    const target = new FakeTarget(() => Promise.reject(new Error('nft is missing')));
    new Inflictor(target).schedule([cut(10, 's1', 's2')]);
    await target.pass(500);
    expect(target.log).toEqual(['cut begins', 'cut s1>s2', 'failed: Error: nft is missing']);
  });

  it('that was to begin after everything healed does not begin', async () => {
    const target = new FakeTarget(atOnce);
    const inflictor = new Inflictor(target);
    inflictor.schedule([cut(10, 's1', 's2')]);
    await inflictor.heal();
    await target.pass(500);
    expect(target.log).toEqual(['healed']);
  });

  it('at time 0 begins at once, before anything that is done next', () => {
    const target = new FakeTarget(atOnce);
    new Inflictor(target).schedule([cut(0, 's1', 's2')]);
    expect(target.log).toEqual(['cut begins', 'cut s1>s2']);
  });
});

describe('a change of the members', () => {
  const remove: Fault = { kind: 'remove-member', atMs: 10, server: 3 };

  it('excuses nothing, and lasts until the operator has an answer', async () => {
    let answered = (): void => {};
    const target = new FakeTarget(() => new Promise((resolve) => (answered = resolve)));
    new Inflictor(target).schedule([remove]);
    await target.pass(500);
    expect(target.log).toEqual(['remove-member begins, and excuses nothing', 'remove 3']);
    answered();
    await target.pass(501);
    await target.pass(502);
    expect(target.log.slice(2)).toEqual(['remove-member ended']);
  });

  it('that was planned for later is still asked for when everything has healed', async () => {
    const target = new FakeTarget(atOnce);
    const inflictor = new Inflictor(target);
    inflictor.schedule([remove]);
    await inflictor.heal();
    await target.pass(500);
    expect(target.log).toContain('remove 3');
    expect(inflictor.begun.get('remove-member')).toBe(1);
  });
});
