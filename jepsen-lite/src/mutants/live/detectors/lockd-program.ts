/** One real server, alone in its cluster. */

import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Client } from '@holdfast/client';
import { Program } from '../program.ts';
import type { Planted } from '../../../patches/planted.ts';

export const CLUSTER_ID = 'planted';

export interface RunningServer {
  readonly program: Program;
  readonly address: string;
}

export async function startLockd(
  planted: Planted,
  data: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const places = ['--client', '127.0.0.1:0', '--peer', '127.0.0.1:0'];
  const own = ['--id', '1', '--cluster-id', CLUSTER_ID, '--data', data];
  const program = new Program(planted, ['@holdfast/lockd', 'main.js'], [...own, ...places], environment);
  const line = await program.says('serves clients at').catch(async (error: unknown) => {
    await program.kill();
    throw error;
  });
  return { program, address: /serves clients at ([^,]+),/.exec(line)?.[1] ?? '' };
}

export function connectTo(address: string, sessionTimeoutMs: number): Promise<Client> {
  const options = { clusterId: CLUSTER_ID, connectTimeoutMs: 20_000, closeTimeoutMs: 500 };
  return connect({ servers: [address], sessionTimeoutMs, ...options });
}

/** Whether it came true in time. */
export async function within(limitMs: number, condition: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await delay(20);
  }
  return true;
}
