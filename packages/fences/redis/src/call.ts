/** The scripts of one call under a token, each bounded by signals and a time. */

import { FenceError, floorOf, type Holder } from '@holdfast/fence';
import { bounded, InstalledFloors, told, underWay, type Cutoff } from '@holdfast/fence/adapter';
import { runScript, type Argument, type RedisClient, type Script } from './client.ts';
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

const installed = new InstalledFloors();

export async function installIn(of: Opened): Promise<void> {
  await runIn(of, 'install', of.scripts.install);
}

export async function installOnceIn(of: Opened): Promise<void> {
  if ((installed.of(of.redis, of.holder).get(of.scope) ?? 0) < floorOf(of.holder)) await installIn(of);
}

/**
 * @param names of the commands in it
 * @returns the replies of what is behind the check
 */
export async function runIn(
  { redis, scope, holder, timeoutMs, cutoff }: Opened,
  doing: Doing,
  script: Script,
  keys: readonly string[] = [],
  args: readonly Argument[] = [],
  names: readonly string[] = [],
): Promise<readonly unknown[]> {
  const floor = floorOf(holder);
  const floors = installed.of(redis, holder);
  const tokens = [padded(holder.token), padded(floor)];
  const running = cutoff.race(runScript(redis, script, [fenceKey(scope), ...keys], [...tokens, ...args]));
  const late = (): FenceError => lateError(doing, timeoutMs);
  const answer = await told(bounded(running, timeoutMs, late), (error) => {
    const ended = doing === 'write' && error instanceof FenceError && error.code === 'ABORTED';
    return ended ? underWay('a write', error.cause) : asFenceError(error, doing);
  });
  try {
    const replies = repliesOf(answer, scope, holder.token, names);
    floors.set(scope, floor);
    return replies;
  } catch (error) {
    // Somebody else's token is there, whatever was; a command failed behind the check.
    if (!(error instanceof FenceError && error.code === 'RESOURCE')) floors.delete(scope);
    throw error;
  }
}
