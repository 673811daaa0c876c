import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../../src/campaigns/live/execute.ts';
import { drawLiveScenario } from '../../../src/scenario/draw/live.ts';
import { namespacesMissing } from '../../../src/targets/live/network/namespaces.ts';

/** A machine on which tests run is busy. */
const RECOVERY_MS = 40_000;
const LIMIT_MS = 180_000;
const SOME: unknown = expect.any(Number);

let directory: string;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'live-strangers-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('strangers at the ports of real servers', () => {
  it.for([{ loopback: false }, { loopback: true }])(
    'are refused, and the servers say so (on the loopback: $loopback)',
    { timeout: LIMIT_MS },
    async ({ loopback }, context) => {
      const reason = loopback ? undefined : namespacesMissing();
      if (reason !== undefined) return context.skip(reason);
      const scenario = drawLiveScenario({
        seed: 3,
        servers: 3,
        clients: 2,
        durationMs: 12_000,
        nemeses: ['usurped-port', 'intruders', 'replayed-requests'],
      });
      const result = await execute(scenario, { target: 'live', directory, loopback, recoveryMs: RECOVERY_MS });
      expect(`${result.verdict}: ${result.why}`).toBe('valid: nothing was wrong');
      expect(result).toMatchObject({ idle: [], leftOut: {} });
      expect(result.struck).toMatchObject({
        'stranger-refused': SOME,
        'server-misled': SOME,
        'request-replayed': SOME,
        'replayer-dropped': SOME,
        kill: SOME,
      });
    },
  );
});
