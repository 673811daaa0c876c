import { silentLogger } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { backup, restore } from '../../src/daemon/backup.ts';
import { bind } from '../../src/daemon/bind.ts';
import { runProgram } from '../../src/daemon/program.ts';
import { resetFence } from '../../src/daemon/reset-fence.ts';
import { serve } from '../../src/daemon/serve.ts';

/** Runs a command line over an empty simulated disk, which none of these gets far enough to use. */
async function run(...args: readonly string[]): Promise<{ readonly exitCode: number; readonly errors: string }> {
  const world = new SimWorld({ seed: 1 });
  const { clock, disk } = world.host('kv').runtime;
  const errors: string[] = [];
  const exitCode = await world.complete(
    runProgram(args, {
      serve: async (options) =>
        await serve(options, {
          clock,
          disk,
          logger: silentLogger,
          descriptorLimit: Infinity,
          linkToEnsemble: () => {
            throw new Error('none of these gets so far');
          },
          stopRequested: Promise.resolve('SIGTERM'),
          onServing() {},
        }),
      resetFence: async (bucket, options) => {
        await resetFence(bucket, options, { disk, logger: silentLogger });
      },
      bind: async (bucket, options) => {
        await bind(bucket, options, { disk, logger: silentLogger });
      },
      backup: async (options) => {
        await backup(options, { disk, logger: silentLogger });
      },
      restore: async (options) => {
        await restore(options, { disk, logger: silentLogger });
      },
      printError: (line) => errors.push(line),
    }),
  );
  return { exitCode, errors: errors.join('\n') };
}

describe('a wrong command line', () => {
  it.each([
    ['open to the network', '--listen', '0.0.0.0:0', '--data', '/data'],
    ['open to the network', '--listen', '[::]:7400', '--data', '/data'],
    ['is not an address', '--listen', 'nowhere', '--data', '/data'],
    ['--listen', '--listen'],
    ['is not an address', '--listen', '127.0.0.1', '--data', '/data'],
    ['is not an address', '--listen', ':7400', '--data', '/data'],
    ['is not an address', '--listen', '127.0.0.1:', '--data', '/data'],
    ['is not an address', '--listen', '127.0.0.1:70000', '--data', '/data'],
    ['is not an address', '--listen', '::1:7400', '--data', '/data'],
    ['is not an address', '--listen', 'http://127.0.0.1:7400', '--data', '/data'],
    ['--data', '--data'],
    ['--data', '--data', ''],
    ['--data'],
    ['--bogus', '--bogus'],
    ['log-level', '--log-level', 'loud', '--data', '/data'],
    ['max-connections', '--max-connections', '0', '--data', '/data'],
    ['max-connections-per-address', '--max-connections-per-address', 'many', '--data', '/data'],
    ['too many arguments', 'serve', '--data', '/data'],
    ['--ensemble', '--verify-tokens', '--data', '/data'],
    ['is not an address', '--ensemble', '127.0.0.1', '--data', '/data'],
    ['is not an address', '--ensemble', '127.0.0.1:7101,', '--data', '/data'],
    ['is not an address', '--ensemble', '127.0.0.1:0', '--data', '/data'],
    ['--ensemble', '--data', '/data', '--ensemble'],
    ['--lock', 'bind', 'b', '--data', '/data'],
    ['no data directory', 'bind', 'b', '--lock', 'jobs', '--data', '/nowhere'],
    ['--to', 'backup', '--data', '/'],
    ['--data', 'backup', '--to', '/file'],
    ['no data directory', 'backup', '--data', '/nowhere', '--to', '/file'],
    ['--from', 'restore', '--data', '/data'],
    ['--data', 'restore', '--from', '/file'],
    ['no file', 'restore', '--data', '/data', '--from', '/file'],
    ['--data', 'reset-fence', 'b'],
    ['bucket', 'reset-fence', '--data', '/data'],
    ['no data directory', 'reset-fence', 'b', '--data', '/nowhere'],
    ['--to', 'reset-fence', 'b', '--data', '/', '--to'],
    ['token', 'reset-fence', 'b', '--data', '/', '--to', '1.5'],
    ['token', 'reset-fence', 'b', '--data', '/', '--to', 'x'],
    ['token', 'reset-fence', 'b', '--data', '/', '--to', '-1'],
    ['token', 'reset-fence', 'b', '--data', '/', '--to', '9007199254740992'],
  ])('is answered with what is wrong: %s', async (reason, ...args) => {
    const { exitCode, errors } = await run(...args);
    expect(exitCode).toBe(2);
    expect(errors).toContain(reason);
  });
});
