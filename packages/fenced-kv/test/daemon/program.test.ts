import { silentLogger, type Disk } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { backup, restore } from '../../src/daemon/backup.ts';
import { bind } from '../../src/daemon/bind.ts';
import { runProgram } from '../../src/daemon/program.ts';
import { resetFence } from '../../src/daemon/reset-fence.ts';
import { serve } from '../../src/daemon/serve.ts';

const FILES = { '/secret': 'a secret of the group', '/short': 'too short\n', '/long': 'x'.repeat(5_000) };

async function writeFile(disk: Disk, path: string, text: string): Promise<void> {
  const file = await disk.open(path, 'create');
  await file.append(0, [new TextEncoder().encode(text)]);
  await file.close();
}

/** A replica's command line, with some of it in another way; undefined leaves it out. */
function replica(changes: Readonly<Record<string, string | undefined>>): string[] {
  const flags = {
    '--data': '/data',
    '--ensemble': '127.0.0.1:7101',
    '--replica-of': 'orders',
    '--replica-id': 'r1',
    '--replicas': 'r1=127.0.0.1:7501,r2=127.0.0.1:7502,r3=127.0.0.1:7503',
    '--secret-file': '/secret',
    ...changes,
  };
  return Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
}

/** Runs a command line over an empty simulated disk, which none of these gets far enough to use. */
async function run(...args: readonly string[]): Promise<{ readonly exitCode: number; readonly errors: string }> {
  const world = new SimWorld({ seed: 1 });
  const { clock, disk, network, random } = world.host('kv').runtime;
  for (const [path, text] of Object.entries(FILES)) await world.complete(writeFile(disk, path, text));
  const errors: string[] = [];
  const exitCode = await world.complete(
    runProgram(args, {
      serve: async (options) =>
        await serve(options, {
          clock,
          disk,
          network,
          random,
          logger: silentLogger,
          descriptorLimit: Infinity,
          linkToEnsemble: () => {
            throw new Error('none of these gets so far');
          },
          connectToEnsemble: async () => await Promise.reject(new Error('none of these gets so far')),
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

describe('a wrong command line of a replica', () => {
  it.each<[string, Readonly<Record<string, string | undefined>>]>([
    ['no name of a group', { '--replica-of': '../etc' }],
    ['no name of a group', { '--replica-of': '' }],
    ['no name of a group', { '--replica-of': 'x'.repeat(65) }],
    ['needs --replica-id', { '--replica-id': undefined }],
    ['needs --replica-id', { '--replica-id': '' }],
    ['no id of a replica', { '--replica-id': 'r/1' }],
    ['has no r9', { '--replica-id': 'r9' }],
    ['needs --replicas', { '--replicas': undefined }],
    ['is not a replica such as', { '--replicas': 'r1' }],
    ['is not a replica such as', { '--replicas': 'r1=127.0.0.1' }],
    ['is not a replica such as', { '--replicas': 'r1=127.0.0.1:7501,' }],
    ['is not a replica such as', { '--replicas': '=127.0.0.1:7501' }],
    ['r1 twice', { '--replicas': 'r1=127.0.0.1:7501,r1=127.0.0.1:7502' }],
    ['address of its own', { '--replicas': 'r1=127.0.0.1:7501,r2=127.0.0.1:7501' }],
    ['at most 16', { '--replicas': Array.from({ length: 17 }, (_, at) => `r${at}=127.0.0.1:${7_500 + at}`).join(',') }],
    ['--peer-listen', { '--peer-listen': '127.0.0.1' }],
    ['needs --secret-file', { '--secret-file': undefined }],
    ['cannot be read', { '--secret-file': '/nowhere' }],
    ['at least 16', { '--secret-file': '/short' }],
    ['more than 4096 bytes', { '--secret-file': '/long' }],
    ['needs the lock ensemble', { '--ensemble': undefined }],
    ['which --replicas does not have', { '--initial-in-sync': 'r1,r9' }],
    ['a replica twice', { '--initial-in-sync': 'r1,r1' }],
    ['a majority', { '--replicas': 'a=h:1,b=h:2,c=h:3,d=h:4,r1=h:5', '--initial-in-sync': 'a,b' }],
    ['--advertise', { '--advertise': '127.0.0.1:7400' }],
    ['--advertise', { '--advertise': 'http://127.0.0.1:7400/?x' }],
    ['--removal-ms is from', { '--removal-ms': '1' }],
    ['removal-ms', { '--removal-ms': 'soon' }],
    ['session-timeout-ms', { '--session-timeout-ms': '999' }],
    ['session-timeout-ms', { '--session-timeout-ms': '0' }],
    ['is a setting of a replica', { '--replica-of': undefined }],
  ])('is answered with what is wrong: %s', async (reason, changes) => {
    const { exitCode, errors } = await run(...replica(changes));
    expect(exitCode).toBe(2);
    expect(errors).toContain(reason);
  });

  it('open to every address must say where clients find it', async () => {
    const { exitCode, errors } = await run(...replica({ '--listen': '0.0.0.0:7400' }), '--insecure');
    expect(exitCode).toBe(2);
    expect(errors).toContain('--advertise');
  });
});
