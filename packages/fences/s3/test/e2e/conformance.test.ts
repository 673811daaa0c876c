import { describeConformance } from '@holdfast/fence-conformance';
import { BEHIND, GAP, READS, STALE, UNWRITTEN, expectBroken } from '@holdfast/fence-conformance/test/broken';
import { RULES, type Rules } from '@holdfast/fence-manifest';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { BUCKET, cellsOn } from '../support/cells.ts';
import { startS3Server, type S3Server } from '../support/s3-server.ts';

let server: S3Server;

beforeAll(async () => {
  server = await startS3Server([BUCKET]);
});
afterAll(() => server?.close());

// The server is ours, and in this process: what is tried is the client's side, and not how durable some S3 is.
describeConformance('S3 (a server of our own)', async () => await cellsOn(server)(), { describe, it });

const BROKEN: Readonly<Record<string, { readonly rules: Rules; readonly red: readonly string[] }>> = {
  'never looks at the token': { rules: { ...RULES, refuses: () => false }, red: [STALE, GAP, UNWRITTEN] },
  'looks first, and puts the manifest over whatever is there then': {
    rules: { ...RULES, condition: (store, scope) => store.load(scope) },
    red: [READS, BEHIND],
  },
  'installs nothing before the first write': { rules: { ...RULES, installs: () => 0 }, red: [GAP, UNWRITTEN] },
};

describe('the suite on S3', () => {
  it.each(Object.entries(BROKEN))('fails a fence that %s', async (name, { rules, red }) => {
    await expectBroken(name, cellsOn(server, rules), red);
  });
});
