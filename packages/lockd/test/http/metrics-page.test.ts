import { Gauge, Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { METRICS_MAX_AGE_MS, MetricsPage } from '../../src/http/metrics-page.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** What each of the metrics takes to be read. */
const SLOW_MS = 4;

let clock: ManualClock;
let readings: string[];
let failure: Error | undefined;
let page: MetricsPage;

beforeEach(() => {
  clock = new ManualClock();
  readings = [];
  failure = undefined;
  page = new MetricsPage((renderings) => {
    const registry = new Registry();
    for (const name of ['first', 'second', 'third']) {
      const gauge = new Gauge({
        name,
        help: name,
        registers: [registry],
        collect() {
          readings.push(name);
          clock.stall(SLOW_MS);
          if (failure !== undefined) throw failure;
          this.set(renderings());
        },
      });
      expect(gauge).toBeDefined();
    }
    return registry;
  }, clock);
});

/** Runs promises, and check phases while a rendering waits for one. */
async function rendered<T>(asked: T | Promise<T>): Promise<T> {
  const promise = Promise.resolve(asked);
  let done = false;
  const end = (): void => void (done = true);
  promise.then(end, end);
  for (let turn = 0; !done; turn += 1) {
    if (turn > 100) throw new Error('the page never comes');
    for (let tick = 0; tick < 20; tick += 1) await Promise.resolve();
    clock.runChecks();
  }
  return promise;
}

describe('the page of metrics', () => {
  it('is rendered once for all who ask in a second', async () => {
    const asked = Array.from({ length: 2_000 }, () => page.get());
    const bodies = new Set(
      (await rendered(Promise.all(asked.map((each) => Promise.resolve(each))))).map(({ body }) => body),
    );
    expect(readings).toEqual(['first', 'second', 'third']);
    expect([...bodies]).toEqual([expect.stringContaining('first 1\n')]);
    clock.stall(METRICS_MAX_AGE_MS - 1);
    await rendered(page.get());
    expect(readings).toHaveLength(3);
    clock.stall(1);
    expect((await rendered(page.get())).body).toContain('third 2\n');
    expect(readings).toHaveLength(6);
  });

  it('leaves the event loop to everything else between two metrics', async () => {
    const asked = page.get();
    const read: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      for (let tick = 0; tick < 20; tick += 1) await Promise.resolve();
      read.push(readings.length);
      clock.runChecks();
    }
    expect(read).toEqual([1, 2, 3]);
    await asked;
  });

  it('that could not be rendered is tried again by the next who asks', async () => {
    failure = new Error('no figures');
    await expect(rendered(page.get())).rejects.toThrow('no figures');
    await expect(rendered(page.get())).rejects.toThrow('no figures');
    failure = undefined;
    expect((await rendered(page.get())).status).toBe(200);
  });

  it('has the form that the library itself writes', async () => {
    const registry = new Registry();
    for (const name of ['a', 'b']) registry.registerMetric(new Gauge({ name, help: `of ${name}`, registers: [] }));
    const own = new MetricsPage(() => registry, clock);
    expect((await rendered(own.get())).body).toBe(await registry.metrics());
  });
});
