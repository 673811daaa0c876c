/** The fenced store refuses stale tokens, and still does after its power has failed; what it acknowledged is there then. */

import type { Failure } from '../../attempt.ts';
import type { LiveDetector } from '../live-mutant.ts';
import type { Planted } from '../../../patches/planted.ts';
import { Program } from '../program.ts';

const WRITES = 20;
const CREATED = 201;

interface RunningStore {
  readonly program: Program;
  readonly url: string;
}

export const fencedWrites: LiveDetector = async ({ planted, volumes }) => {
  const volume = await volumes.create('fenced-writes');
  const broken = (message: string): Failure => ({ kind: 'promise', name: 'fenced-writes', message });
  let store = await startStore(planted, volume.path);
  try {
    const made = await send(store, 'PUT', '/v1/buckets/b', undefined, '{"tokens":"required"}');
    if (made !== CREATED) throw new Error(`the bucket was answered ${made}`);
    for (let n = 0; n < WRITES; n += 1) {
      const written = await put(store, `k${n}`, 50 + n);
      if (written !== 204) throw new Error(`a write was answered ${written}`);
    }
    if ((await put(store, 'stale', 40)) === 204) return broken('a write with a stale token was done');
    await volume.powerLoss('none', store.program.pid);
    await store.program.kill();
    await volume.remount();
    store = await startStore(planted, volume.path);
    for (let n = 0; n < WRITES; n += 1) {
      const found = await send(store, 'GET', `/v1/buckets/b/keys/k${n}`);
      if (found !== 200) return broken(`write ${n} of ${WRITES} was acknowledged, and is gone after a power failure`);
    }
    const late = await put(store, 'late', 50 + WRITES - 2);
    return late === 204 ? broken('a stale token passes after a power failure') : undefined;
  } finally {
    await store.program.kill();
    await volume.close();
  }
};

async function startStore(planted: Planted, data: string): Promise<RunningStore> {
  const args = ['--listen', '127.0.0.1:0', '--data', data];
  const program = new Program(planted, ['@holdfast/fenced-kv', 'main.js'], args);
  const line = await program.says('fenced-kvd serves ');
  return { program, url: /serves (\S+)/.exec(line)?.[1] ?? '' };
}

function put(store: RunningStore, key: string, token: number): Promise<number> {
  return send(store, 'PUT', `/v1/buckets/b/keys/${key}`, token, 'value');
}

async function send(store: RunningStore, method: string, path: string, token?: number, body?: string): Promise<number> {
  const type = path.includes('/keys/') ? 'application/octet-stream' : 'application/json';
  const response = await fetch(new URL(path, store.url), {
    method,
    headers: { 'content-type': type, ...(token === undefined ? {} : { 'fencing-token': `${token}` }) },
    ...(body === undefined ? {} : { body }),
  });
  await response.arrayBuffer();
  return response.status;
}
