import { conformanceCases, describeConformance, runConformance } from '@holdfast/fence-conformance';
import { RULES, type Rules } from '@holdfast/fence-manifest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUCKET, cellsOn } from '../support/cells.ts';
import { startS3Server, type S3Server } from '../support/s3-server.ts';

let server: S3Server;

beforeAll(async () => {
  server = await startS3Server([BUCKET]);
});
afterAll(() => server?.close());

// The server is ours, and in this process: what is tried is the client's side, and not how durable some S3 is.
describeConformance('S3 (a server of our own)', async () => await cellsOn(server)(), { describe, it });

const STALE = 'a stale write is refused and changes nothing';
const READS = 'a new holder reads nothing that is about to be overwritten';
const BEHIND = 'a write that was checked in time does not come behind a newer one';
const GAP = 'no older write gets in between an install and the first write';
const UNWRITTEN = 'an install fences a scope that nobody has written';

const BROKEN: Readonly<Record<string, { readonly rules: Rules; readonly red: readonly string[] }>> = {
  'never looks at the token': { rules: { ...RULES, refuses: () => false }, red: [STALE, GAP, UNWRITTEN] },
  'looks first, and puts the manifest over whatever is there then': {
    rules: { ...RULES, condition: (store, scope) => store.load(scope) },
    red: [READS, BEHIND],
  },
  'installs nothing before the first write': { rules: { ...RULES, installs: () => 0 }, red: [GAP, UNWRITTEN] },
};

/** What a fence without a check still does. */
const STILL = [
  'a holder reads what it wrote, and writes as often as it likes',
  'a malformed token is refused and installs nothing',
];

describe('the suite on S3', () => {
  it.each(Object.entries(BROKEN))('fails a fence that %s', async (name, { rules, red }) => {
    const tried = conformanceCases.filter((each) => red.includes(each.name) || STILL.includes(each.name));
    const results = await runConformance(cellsOn(server, rules), tried);
    const failed = results.filter(({ outcome }) => outcome === 'failed').map((each) => each.name);
    // Broken where it says so, and not altogether.
    expect(failed.toSorted(), name).toEqual(red.toSorted());
  });
});
