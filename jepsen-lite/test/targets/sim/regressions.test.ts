import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runScenario } from '../../../src/targets/sim/run.ts';
import { decodeScenario } from '../../../src/scenario/scenario-file.ts';

const folder = new URL('regressions/', import.meta.url);

describe('a scenario that once broke a promise', () => {
  it.each(readdirSync(folder))('keeps it now (%s)', { timeout: 60_000 }, async (name) => {
    const { scenario } = decodeScenario(readFileSync(new URL(name, folder), 'utf8'));
    expect((await runScenario(scenario)).failure).toBeUndefined();
  });
});
