/** The scripts of one call under a token, each bounded by signals and a time. */

import { floorOf, type Holder } from '@holdfast/fence';
import { InstalledFloors, underWay, type Cutoff } from '@holdfast/fence/adapter';
import { runScript, type Argument, type RedisClient, type Replies, type Script } from './client.ts';
import { asFenceError, lateError, type Doing } from './errors.ts';
import { fenceKey } from './keys.ts';
import { padded, repliesOf, type Scripts } from './scripts.ts';

/** A call whose arguments are well-formed. */
export interface Opened {
  readonly scripts: Scripts;
  readonly redis: RedisClient;
  readonly scope: string;
  readonly holder: Holder;
  readonly timeoutMs: number;
  readonly cutoff: Cutoff;
}

/** What a script does behind the check. */
export class Work {
  readonly keys: string[] = [];
  readonly args: Argument[] = [];
  /** Of the commands in it. */
  readonly names: string[] = [];
}

const NOTHING = new Work();

const installed = new InstalledFloors();

export function isInstalled({ redis, scope, holder }: Opened): boolean {
  return (installed.of(redis, holder).get(scope) ?? 0) >= floorOf(holder);
}

/** @returns the replies of what is behind the check */
export async function runIn(of: Opened, doing: Doing, script: Script, work = NOTHING): Promise<Replies> {
  const { redis, scope, holder, timeoutMs, cutoff } = of;
  const floor = floorOf(holder);
  const args = [padded(holder.token), padded(floor), ...work.args];
  const running = runScript(redis, script, [fenceKey(scope), ...work.keys], args);
  const floors = installed.of(redis, holder);
  try {
    const answer = await cutoff.race(running, { ms: timeoutMs, late: () => lateError(doing, timeoutMs) });
    const replies = repliesOf(answer, scope, holder.token, work.names);
    floors.set(scope, floor);
    return replies;
  } catch (error) {
    const failure = asFenceError(error, doing);
    // Somebody else's token is there, whatever was.
    if (failure.code === 'STALE_TOKEN' || failure.code === 'SCHEMA_VERSION') floors.delete(scope);
    throw failure.code === 'ABORTED' && doing === 'write' ? underWay('a write', failure.cause) : failure;
  }
}
