import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  conformanceCases,
  runConformance,
  type ConformanceCase,
  type FencedResource,
} from '@holdfast/fence-conformance';
import { ALL_CELLS, BEHIND, GAP, READS, STALE, UNWRITTEN, expectBroken } from '@holdfast/fence-conformance/test/broken';
import { afterAll, describe, expect, it } from 'vitest';
import { Gate, gateOf, type Entry } from '../../src/gate.ts';
import { fileFloors, memoryFloors, StaleTokenError, type FloorStore, type Holder } from '../../src/index.ts';
import { resourceOf, SERVICES, type ScopeOf, type Service, type Start } from '../support/services.ts';

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

// The frameworks do not see where floors are, and the floors not who asks: all cases with each, and what is between them once.
describe.each(Object.entries(SERVICES))('the suite on %s', (_name, start) => {
  it('passes a fence with floors in memory', async () => {
    expect(await resultsOn(start, memoryFloors(), fleeting)).toEqual([]);
  });

  it('passes a fence with floors in files when it is started again', async () => {
    const restarts = lasting.filter((each) => !fleeting.includes(each));
    expect(restarts).toHaveLength(2);
    expect(await resultsOn(start, fileFloors(directory), restarts)).toEqual([]);
  });
});

describe('the suite on node:http', () => {
  it('passes a fence with floors in files', async () => {
    expect(await resultsOn(SERVICES['node:http'], fileFloors(directory), lasting)).toEqual([]);
  });
});

/** As middleware that has only a place in the chain: it checks, and whatever the handler does comes later. */
class CheckingGate extends Gate {
  override async enter(scope: string, holder: Holder, waitMs: number): Promise<Entry> {
    const entry = await super.enter(scope, holder, waitMs);
    entry.leave();
    return { ...entry, leave: () => undefined };
  }
}

/** It looks first, and raises when the handler has ended. */
class LateGate extends Gate {
  readonly #floors: FloorStore;

  constructor(floors: FloorStore) {
    super({ ...floors, raise: async (scope, holder) => await refuseBelow(floors, scope, holder) });
    this.#floors = floors;
  }

  override async enter(scope: string, holder: Holder, waitMs: number): Promise<Entry> {
    const entry = await super.enter(scope, holder, waitMs);
    entry.leave();
    return { ...entry, leave: () => void this.#floors.raise(scope, holder).catch(() => undefined) };
  }
}

async function refuseBelow(floors: FloorStore, scope: string, { token }: Holder): Promise<void> {
  const highest = await floors.highest(scope);
  if (token < highest) throw new StaleTokenError(scope, token, highest);
}

interface Broken {
  readonly floors?: () => FloorStore;
  readonly gate?: (floors: FloorStore) => Gate;
  readonly others?: Partial<FencedResource>;
  readonly scopeOf?: ScopeOf;
  /** Cases that must fail. */
  readonly red: readonly string[];
}

const BROKEN: Readonly<Record<string, Broken>> = {
  'never looks at the token': {
    floors: () => ({ raise: async () => undefined, highest: async () => 0 }),
    red: [STALE, GAP, UNWRITTEN],
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
  'checks a request, and lets its handler work on behind newer holders': {
    gate: (floors) => new CheckingGate(floors),
    red: [READS, BEHIND],
  },
  'looks at the floor, and raises it when the handler has ended': {
    gate: (floors) => new LateGate(floors),
    red: [READS, BEHIND],
  },
  'installs with the first write only': { others: { install: async () => undefined }, red: [GAP, UNWRITTEN] },
  'has a token for each path, and not for the scope': {
    scopeOf: ({ url }) => url ?? '',
    red: [ALL_CELLS],
  },
};

describe('the suite over HTTP', () => {
  it.each(Object.entries(BROKEN))(
    'fails a fence that %s',
    async (name, { floors = memoryFloors, gate, others, scopeOf, red }) => {
      const onNode = SERVICES['node:http'];
      if (onNode === undefined) throw new Error('there is no such service');
      const start: Start = (given, options) => onNode(given, { ...options, scopeOf });
      const store = floors();
      if (gate !== undefined) gateOf(store, gate);
      const service = await start(store);
      await expectBroken(name, async () => resourceOf(() => service, others), red);
      await service.close();
    },
  );
});
