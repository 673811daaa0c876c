import { describeConformance, type FencedResource } from '@holdfast/fence-conformance';
import { ALL_CELLS, BEHIND, GAP, READS, STALE, UNWRITTEN, expectBroken } from '@holdfast/fence-conformance/test/broken';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { STATEMENTS, type Statements } from '../../src/fence.ts';
import { cellsOn, put, type Cells, type Put, type Stop } from '../support/cells.ts';
import { postgresPrograms, query, startPostgres, type Postgres } from '../support/server.ts';

const bin = postgresPrograms();
let server: Postgres;
const cells = new Map<Stop, Cells>();
const STOPS = ['before its write', 'behind its write'] as const;

beforeAll(async () => {
  if (bin === undefined) return;
  server = await startPostgres(bin);
  for (const stop of STOPS) cells.set(stop, await cellsOn(server, { stop }));
});
afterAll(async () => {
  for (const each of cells.values()) await each.close();
  await server?.stop();
});

if (bin === undefined) it('PostgreSQL passes the suite', (context) => context.skip('PostgreSQL is not installed'));
else {
  describe.each(STOPS)('where a slow write stops %s', (stop) => {
    const open = async (): Promise<FencedResource> => {
      const opened = await cells.get(stop)?.open();
      if (opened === undefined) throw new Error('PostgreSQL was not started');
      return opened;
    };
    describeConformance('PostgreSQL', open, { describe, it });
  });
}

interface Broken {
  readonly statements: Statements;
  readonly put?: Put;
  /** Cases that must fail. */
  readonly red: readonly string[];
}

const NOTHING = 'SELECT $1::int, $2::text, $3::bigint, $4::bigint, $5::int';
const LOOK = 'SELECT broken_look($1, $2, $3, $4, $5)';
const RAISE = 'SELECT broken_raise($1, $2, $3, $4, $5)';

/** What somebody might write who has not thought of the time between a check and a commit. */
const BROKEN_SQL = `
  CREATE OR REPLACE FUNCTION broken_look(integer, s text, t bigint, f bigint, integer) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    highest bigint := (SELECT floor FROM holdfast.fence WHERE scope = s);
  BEGIN
    IF t < highest THEN
      RAISE EXCEPTION 'stale' USING ERRCODE = 'HF001', DETAIL = highest;
    END IF;
  END $$;
  CREATE OR REPLACE FUNCTION broken_raise(integer, s text, t bigint, f bigint, integer) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO holdfast.fence AS old (scope, floor) VALUES (s, f)
      ON CONFLICT (scope) DO UPDATE SET floor = excluded.floor WHERE old.floor < excluded.floor;
    PERFORM broken_look(1, s, t, f, 0);
  END $$;
`;

const putByRow: Put = async (tx, scope, cell, value, { token }) => {
  const { rowCount } = await tx.query(
    `INSERT INTO cells (scope, cell, value, token) VALUES ($1, $2, $3, $4)
     ON CONFLICT (scope, cell) DO UPDATE SET value = excluded.value, token = excluded.token
       WHERE cells.token <= excluded.token`,
    [scope, cell, value, token],
  );
  if (rowCount === 0) throw Object.assign(new Error('a newer holder wrote this row'), { code: 'STALE_TOKEN' });
};

const BROKEN: Readonly<Record<string, Broken>> = {
  'has no fence at all': {
    statements: { ...STATEMENTS, install: NOTHING, enter: NOTHING },
    red: [STALE, GAP, UNWRITTEN, READS, BEHIND],
  },
  'installs, and checks no transaction': { statements: { ...STATEMENTS, enter: NOTHING }, red: [READS, BEHIND] },
  'looks first, and writes afterwards': {
    statements: { ...STATEMENTS, install: RAISE, enter: LOOK },
    red: [READS, BEHIND],
  },
  'installs with the first write only': {
    statements: { ...STATEMENTS, install: NOTHING, enter: RAISE },
    red: [GAP, UNWRITTEN],
  },
  'has a token in each row': {
    statements: { ...STATEMENTS, install: NOTHING, enter: NOTHING },
    put: putByRow,
    red: [GAP, UNWRITTEN, ALL_CELLS],
  },
};

describe('the suite on PostgreSQL', () => {
  beforeEach((context) => context.skip(bin === undefined, 'PostgreSQL is not installed'));

  it.each(Object.entries(BROKEN))('fails a fence that %s', async (name, { statements, put: write = put, red }) => {
    const broken = await cellsOn(server, { statements, put: write, stop: 'before its write' });
    await query(bin ?? '', server.url, BROKEN_SQL);
    await expectBroken(name, broken.open, red);
    await broken.close();
  });
});
