import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformanceCases, runConformance, type ConformanceCase } from '@holdfast/fence-conformance';
import { afterAll, describe, expect, it } from 'vitest';
import { fileFloors, memoryFloors, type FloorStore } from '../../src/index.ts';
import { resourceOf, SERVICES, type Service, type Start } from '../support/services.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-http-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function resultsOn(
  start: Start,
  floors: FloorStore,
  cases: readonly ConformanceCase[],
): Promise<readonly string[]> {
  let service: Service = await start(floors);
  // The data are in memory: what a restart has to keep is the floor.
  const restart = async (): Promise<void> => {
    const { cells } = service.data;
    await service.close();
    service = await start(floors);
    for (const [key, value] of cells) service.data.cells.set(key, value);
  };
  const results = await runConformance(async () => resourceOf(() => service, { restart }), cases);
  await service.close();
  return results.filter(({ outcome }) => outcome !== 'passed').map(({ name, error }) => `${name}: ${String(error)}`);
}

// A crash of the service takes its data in memory: those of a database are fenced there. `other` is another connection as it is.
const lasting = conformanceCases.filter(({ needs }) => !needs.includes('crash') && !needs.includes('other'));
const fleeting = lasting.filter(({ needs }) => !needs.includes('restart'));

describe.each(Object.entries(SERVICES))('the suite on %s', (_name, start) => {
  it('passes a fence with floors in files', async () => {
    expect(await resultsOn(start, fileFloors(directory), lasting)).toEqual([]);
  });

  it('passes a fence with floors in memory', async () => {
    expect(await resultsOn(start, memoryFloors(), fleeting)).toEqual([]);
  });
});

const STALE = 'a stale write is refused and changes nothing';
const GAP = 'no older write gets in between an install and the first write';

/** A store that forgets, and one that raises without asking. */
const BROKEN: Readonly<Record<string, { readonly floors: () => FloorStore; readonly red: readonly string[] }>> = {
  'never looks at the token': {
    floors: () => ({ raise: async () => undefined, highest: async () => 0 }),
    red: [STALE, GAP, 'an install fences a scope that nobody has written'],
  },
  'remembers the last token, and not the highest': {
    floors: () => {
      const last = new Map<string, number>();
      return {
        raise: async (scope, { token }) => void last.set(scope, token),
        highest: async (scope) => last.get(scope) ?? 0,
      };
    },
    red: [STALE, GAP],
  },
};

describe('the suite over HTTP', () => {
  it.each(Object.entries(BROKEN))('fails a fence that %s', async (_name, { floors, red }) => {
    const start = SERVICES['node:http'];
    if (start === undefined) throw new Error('there is no such service');
    const failed = await resultsOn(start, floors(), fleeting);
    for (const name of red) expect(failed).toContainEqual(expect.stringContaining(name));
    expect(failed.length).toBeLessThan(fleeting.length);
  });
});
