/** One call under a token: its scripts, each bounded by signals and a time. */

import { FenceError, floorOf, type Holder } from '@holdfast/fence';
import { bounded, InstalledFloors, told, underWay, type Cutoff } from '@holdfast/fence/adapter';
import { runScript, type Argument, type RedisClient, type Script } from './client.ts';
import { asFenceError, lateError, type Doing } from './errors.ts';
import { fenceKey } from './keys.ts';
import { padded, repliesOf, type Scripts } from './scripts.ts';

interface OpenCall {
  readonly scripts: Scripts;
  readonly redis: RedisClient;
  readonly scope: string;
  readonly holder: Holder;
  readonly timeoutMs: number;
  readonly cutoff: Cutoff;
}

const installed = new InstalledFloors();

export class Call {
  readonly #of: OpenCall;

  constructor(of: OpenCall) {
    this.#of = of;
  }

  get scripts(): Scripts {
    return this.#of.scripts;
  }

  /** Before it writes. */
  assertHeld(): void {
    this.#of.holder.assertHeld?.();
    this.#of.cutoff.throwIfAborted();
  }

  async install(): Promise<void> {
    await this.run('install', this.#of.scripts.install);
  }

  async installOnce(): Promise<void> {
    if ((this.#installed().get(this.#of.scope) ?? 0) < floorOf(this.#of.holder)) await this.install();
  }

  /**
   * @param names of the commands in it
   * @returns the replies of what is behind the check
   */
  async run(
    doing: Doing,
    script: Script,
    keys: readonly string[] = [],
    args: readonly Argument[] = [],
    names: readonly string[] = [],
  ): Promise<readonly unknown[]> {
    const { redis, scope, holder, timeoutMs, cutoff } = this.#of;
    const floor = floorOf(holder);
    const tokens = [padded(holder.token), padded(floor)];
    const running = cutoff.race(runScript(redis, script, [fenceKey(scope), ...keys], [...tokens, ...args]));
    const late = (): FenceError => lateError(doing, timeoutMs);
    const answer = await told(bounded(running, timeoutMs, late), (error) => {
      const ended = doing === 'write' && error instanceof FenceError && error.code === 'ABORTED';
      return ended ? underWay('a write', error.cause) : asFenceError(error, doing);
    });
    try {
      const replies = repliesOf(answer, scope, holder.token, names);
      this.#installed().set(scope, floor);
      return replies;
    } catch (error) {
      // Somebody else's token is there, whatever was; a command failed behind the check.
      if (!(error instanceof FenceError && error.code === 'RESOURCE')) this.#installed().delete(scope);
      throw error;
    }
  }

  #installed(): Map<string, number> {
    return installed.of(this.#of.redis, this.#of.holder);
  }
}
