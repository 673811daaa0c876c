/** One trial of a resource: an ensemble, three processes, every situation in turn. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findFreeBasePort, LocalEnsemble } from '@holdfast/ensemble';
import { randomStream } from '@holdfast/runtime/sim';

import type { Fence } from './adapters/fence.ts';
import { messageOf, ResourceInputError } from './adapters/resource.ts';
import { HeldBackLink } from './holders/held-back-link.ts';
import { HolderProcess } from './holders/holder-process.ts';
import type { HolderName } from './holders/holder.ts';
import { playAll, type Play, type Trial } from './play.ts';

/** Short, so that a paused holder loses its session soon; the SDK's default is 10 seconds. */
const SESSION_TIMEOUT_MS = 2_000;

export interface TrialOptions extends Play {
  readonly fence: Fence;
  /** Of an ensemble that runs; without them one is started for this. */
  readonly servers?: readonly string[];
}

/** @throws ResourceInputError where there is nothing to try; the signal's reason when it is aborted. */
export async function tryResource(options: TrialOptions, signal: AbortSignal): Promise<Trial> {
  if (options.servers !== undefined) return await tryWith(options.servers, options, signal);
  const dataDirectory = mkdtempSync(join(tmpdir(), 'holdfast-resource-'));
  try {
    const basePort = await findFreeBasePort(3);
    const ensemble = await LocalEnsemble.start({
      dataDirectory,
      basePort,
      fencedKv: false,
      clusterId: 'resource',
      signal,
    });
    try {
      return await tryWith(ensemble.clientAddresses, options, signal);
    } finally {
      await ensemble.stop();
    }
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}

async function tryWith(servers: readonly string[], options: TrialOptions, signal: AbortSignal): Promise<Trial> {
  const { fence, seed, callTimeoutMs } = options;
  const link = fence.type === 'url' ? await HeldBackLink.open(fence.url) : undefined;
  const start = (name: HolderName): HolderProcess =>
    new HolderProcess({
      name,
      fence,
      servers,
      lock: `jepsen/resource/${randomStream(seed, 'lock').integer(2 ** 32)}`,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      callTimeoutMs,
      ...(link === undefined ? {} : { detour: link.detour }),
    });
  const [a, b, c] = [start('A'), start('B'), start('C')];
  const finish = async (): Promise<void> => {
    await Promise.all([a, b, c].map((holder) => holder.finish()));
  };
  const interrupt = (): void => void finish();
  signal.addEventListener('abort', interrupt);
  try {
    const [abilities] = await Promise.all([a.open(), b.open(), c.open()]);
    await refuseSilence(fence, c);
    const trial = await playAll({ a, b, c, ...abilities, ...(link === undefined ? {} : { link }) }, options);
    signal.throwIfAborted();
    return trial;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
    await finish();
    await link?.close();
  }
}

/** An address where nobody is says nothing about a fence. */
async function refuseSilence(fence: Fence, holder: HolderProcess): Promise<void> {
  const { outcome } = await holder.call({ type: 'read' });
  if (outcome.type === 'taken') return;
  const where = fence.type === 'url' ? fence.url : fence.path;
  throw new ResourceInputError(`${where}: the first read failed, so nothing was tried: ${messageOf(outcome.message)}`);
}
