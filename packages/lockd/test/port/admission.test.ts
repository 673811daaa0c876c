import { describe, expect, it } from 'vitest';
import { ADMISSION_IDLE_MS, ASSUMED_ATTACHES_PER_S, CROWD_ATTACHES, MAX_COME_AGAIN_MS } from '../../src/limits.ts';
import { ReturningCrowd } from '../../src/sessions/returning-crowd.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import { ManualClock } from '../support/manual-clock.ts';
import type { TestClient } from '../support/test-client.ts';

function busy() {
  const ensemble = new LoopbackEnsemble();
  ensemble.elect(1);
  ensemble.holdCommits = true;
  const clients: TestClient[] = [];
  let secrets = 0;
  const arrive = (): { readonly client: TestClient; readonly againInMs: number | undefined } => {
    const client = ensemble.server(1).dial();
    client.hello();
    secrets += 1;
    const [answer] = client.take();
    if (answer?.type === 'welcome') client.sendAttach(secrets);
    clients.push(client);
    return { client, againInMs: answer?.type === 'goodbye' ? answer.againInMs : undefined };
  };
  return { ensemble, arrive, clients };
}

describe('a crowd before the door', () => {
  it('is let in as far as it can be attached within a second, and the rest is told when to come', () => {
    const { arrive } = busy();
    const arrivals = Array.from({ length: ASSUMED_ATTACHES_PER_S + 100 }, arrive);
    const told = arrivals.flatMap(({ againInMs }) => (againInMs === undefined ? [] : [againInMs]));
    expect(told).toHaveLength(100);
    expect(Math.min(...told)).toBeGreaterThan(400);
    // One after another, at the pace at which they will be attached.
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect((told.at(-1) ?? 0) - (told[0] ?? 0)).toBeGreaterThanOrEqual((99 * 1_000) / ASSUMED_ATTACHES_PER_S - 2);
  });

  it('is told no time that is further than the bound', () => {
    const { arrive } = busy();
    const arrivals = Array.from({ length: 20 * ASSUMED_ATTACHES_PER_S }, arrive);
    expect(Math.max(...arrivals.map(({ againInMs }) => againInMs ?? 0))).toBe(MAX_COME_AGAIN_MS);
  });

  it('is let in again when those before it are attached', () => {
    const { ensemble, arrive } = busy();
    while (arrive().againInMs === undefined);
    ensemble.holdCommits = false;
    ensemble.server(1).schedule();
    ensemble.clock.runChecks();
    expect(arrive().againInMs).toBeUndefined();
  });

  it('is let in again when those before it have gone', () => {
    const { arrive, clients } = busy();
    while (arrive().againInMs === undefined);
    for (const client of clients) client.drop();
    expect(arrive().againInMs).toBeUndefined();
  });

  it('does not stand behind clients that ask for nothing', () => {
    const { ensemble } = busy();
    const arrive = (): string | undefined => {
      const client = ensemble.server(1).dial();
      client.hello();
      return client.take()[0]?.type;
    };
    while (arrive() === 'welcome');
    ensemble.clock.advance(ADMISSION_IDLE_MS + 1);
    expect(arrive()).toBe('welcome');
  });
});

describe('a crowd that comes back', () => {
  it('is seen by its attaches, until a second after the last of them', () => {
    const clock = new ManualClock();
    const crowd = new ReturningCrowd(clock);
    for (let attach = 1; attach < CROWD_ATTACHES; attach += 1) crowd.attached();
    expect(crowd.present).toBe(false);
    crowd.attached();
    expect(crowd.present).toBe(true);
    clock.advance(1_001);
    expect(crowd.present).toBe(false);
    for (let attach = 0; attach < 1_000; attach += 1) {
      clock.advance(20);
      crowd.attached();
    }
    expect(crowd.present).toBe(false);
  });
});
