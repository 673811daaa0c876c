import { describeConformance, type FencedResource } from '@holdfast/fence-conformance';
import { ALL_CELLS, BEHIND, GAP, READS, STALE, UNWRITTEN, expectBroken } from '@holdfast/fence-conformance/test/broken';
import { floorOf } from '@holdfast/fence';
import type { ResultSetHeader } from 'mysql2/promise';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { STEPS, type Steps } from '../../src/fence.ts';
import { cellsOn, put, type Cells, type Put, type Stop } from '../support/cells.ts';
import { freshDatabase } from '../support/databases.ts';
import { hasMariaDb, startMariaDb, type MariaDb } from '../support/server.ts';

const installed = hasMariaDb();
let server: MariaDb;
const cells = new Map<Stop, Cells>();
const STOPS = ['before its write', 'behind its write'] as const;

beforeAll(async () => {
  if (!installed) return;
  server = await startMariaDb();
  const database = await freshDatabase(server);
  for (const stop of STOPS) cells.set(stop, await cellsOn(server, database, { stop }));
});
afterAll(async () => {
  for (const each of cells.values()) await each.close();
  await server?.stop();
});

if (installed) {
  describe.each(STOPS)('where a slow write stops %s', (stop) => {
    const open = async (): Promise<FencedResource> => {
      const opened = await cells.get(stop)?.open();
      if (opened === undefined) throw new Error('MariaDB was not started');
      return opened;
    };
    describeConformance('MariaDB', open, { describe, it });
  });
} else it('MariaDB passes the suite', (context) => context.skip('MariaDB is not installed'));

interface Broken {
  readonly steps: Partial<Steps>;
  readonly put?: Put;
  /** Cases that must fail. */
  readonly red: readonly string[];
}

const pretend: Steps['look'] = async (_session, _scope, holder) => floorOf(holder);

const putByRow: Put = async (tx, scope, cell, value, { token }) => {
  const [{ affectedRows }] = await tx.query<ResultSetHeader>(
    'UPDATE cells SET value = ?, token = ? WHERE scope = ? AND cell = ? AND token <= ?',
    [value, token, Buffer.from(scope), cell, token],
  );
  if (affectedRows > 0) return;
  const [{ affectedRows: inserted }] = await tx.query<ResultSetHeader>(
    'INSERT IGNORE INTO cells (scope, cell, value, token) VALUES (?, ?, ?, ?)',
    [Buffer.from(scope), cell, value, token],
  );
  if (inserted === 0) throw Object.assign(new Error('a newer holder wrote this row'), { code: 'STALE_TOKEN' });
};

const BROKEN: Readonly<Record<string, Broken>> = {
  'has no fence at all': { steps: { look: pretend, enter: pretend }, red: [STALE, GAP, UNWRITTEN, READS, BEHIND] },
  'checks no transaction': { steps: { enter: pretend }, red: [STALE, GAP, UNWRITTEN, READS, BEHIND] },
  'looks first, and writes afterwards': { steps: { enter: STEPS.look }, red: [READS, BEHIND] },
  'installs with the first write only': { steps: { look: pretend }, red: [GAP, UNWRITTEN] },
  'has a token in each row': {
    steps: { look: pretend, enter: pretend },
    put: putByRow,
    red: [GAP, UNWRITTEN, ALL_CELLS],
  },
};

describe('the suite on MariaDB', () => {
  it.each(Object.entries(BROKEN))('fails a fence that %s', async (name, { steps, put: write = put, red }) => {
    if (!installed) return;
    const database = await freshDatabase(server);
    const broken = await cellsOn(server, database, {
      steps: { ...STEPS, ...steps },
      put: write,
      stop: 'before its write',
    });
    await expectBroken(name, broken.open, red);
    await broken.close();
  });
});
