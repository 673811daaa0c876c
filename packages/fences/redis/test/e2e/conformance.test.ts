import {
  conformanceCases,
  describeConformance,
  runConformance,
  type FencedResource,
} from '@holdfast/fence-conformance';
import { ALL_CELLS, BEHIND, GAP, READS, STALE, UNWRITTEN, expectBroken } from '@holdfast/fence-conformance/test/broken';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptOf } from '../../src/client.ts';
import { CHECK, COMMANDS, SCRIPTS, type Scripts } from '../../src/scripts.ts';
import { cellsOn, type CellsOptions } from '../support/cells.ts';
import { KINDS, type Kind } from '../support/clients.ts';
import { CLUSTER, hasRedis, startRedis, type RedisServer } from '../support/server.ts';

const installed = hasRedis();
let server: RedisServer;
let cluster: RedisServer;

beforeAll(async () => {
  if (!installed) return;
  server = await startRedis();
  cluster = await startRedis(CLUSTER);
});
afterAll(async () => {
  await server?.stop();
  await cluster?.stop();
});

if (installed) {
  describe.each(KINDS)('with %s', (kind) => {
    const open = (): Promise<FencedResource> => cellsOn(kind.endsWith('cluster') ? cluster : server, kind)();
    describeConformance('Redis', open, { describe, it });
  });
} else it('Redis passes the suite', (context) => context.skip('Redis is not installed'));

interface Broken {
  readonly options: CellsOptions;
  /** Cases that must fail. */
  readonly red: readonly string[];
}

const scriptsOf = (check: string, installCheck = check): Scripts => ({
  install: scriptOf(`${installCheck}\nreturn {'ok'}`),
  commands: scriptOf(check + COMMANDS),
  check,
});

const RED: Readonly<Record<string, Broken>> = {
  'checks nothing': { options: { scripts: scriptsOf('') }, red: [STALE, GAP, UNWRITTEN, READS, BEHIND] },
  'checks at the beginning, and writes afterwards': {
    options: { scripts: { ...SCRIPTS, commands: scriptOf(COMMANDS) } },
    red: [READS, BEHIND],
  },
  'does not install before the first write': {
    options: { scripts: scriptsOf(CHECK, ''), install: async () => undefined },
    red: [GAP, UNWRITTEN],
  },
  'compares texts that are not padded': {
    options: {
      scripts: scriptsOf(
        CHECK.replace(
          'local stored',
          "for place = 1, 2 do ARGV[place] = string.gsub(ARGV[place], '^0+', '') end\nlocal stored",
        ).replace(/#stored ~= \d+ or /, ''),
      ),
    },
    red: ['tokens are compared as numbers'],
  },
  'has a token for each key': {
    options: {
      scripts: scriptsOf(''),
      install: async () => undefined,
      put: async (tx, key, value, _open, { token }) => {
        const kept = await tx.eval(
          `local stored = tonumber(redis.call('GET', KEYS[2]) or 0)
           if tonumber(ARGV[1]) < stored then return 0 end
           redis.call('SET', KEYS[2], ARGV[1])
           redis.call('SET', KEYS[1], ARGV[2])
           return 1`,
          [key, `${key}:token`],
          [token, value],
        );
        if (kept === 0) throw Object.assign(new Error('a newer holder wrote this key'), { code: 'STALE_TOKEN' });
      },
    },
    red: [GAP, UNWRITTEN, ALL_CELLS],
  },
};

describe('the suite on Redis', () => {
  const kind: Kind = 'ioredis';

  it.each(Object.entries(RED))('fails a fence that %s', async (name, { options, red }) => {
    if (!installed) return;
    await expectBroken(name, cellsOn(server, kind, options), red);
  });

  it('fails a server that writes nothing to its disk', async () => {
    if (!installed) return;
    const forgetful = await startRedis(['--appendonly', 'no']);
    try {
      const crashes = conformanceCases.filter(({ needs }) => needs.includes('crash'));
      const results = await runConformance(cellsOn(forgetful, kind), crashes);
      const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
      expect(failed).toContain('a crash keeps values and tokens');
      expect(failed).toContain('a crash between an install and a write keeps the token');
    } finally {
      await forgetful.stop();
    }
  });
});
