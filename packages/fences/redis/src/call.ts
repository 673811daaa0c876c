/** One call under a token: its scripts, each bounded by signals and a time. */

import { FenceError, floorOf, type Holder } from '@holdfast/fence';
import { offAbort, onAbort } from '@holdfast/runtime';
import { runScript, type Argument, type RedisClient, type Script } from './client.ts';
import { abortedError, asFenceError, lateError, type Doing } from './errors.ts';
import { fenceKey } from './keys.ts';
import { CommandFailure, padded, repliesOf, type Scripts } from './scripts.ts';

export interface CallOf {
  readonly scripts: Scripts;
  readonly client: RedisClient;
  readonly scope: string;
  readonly holder: Holder;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/** Floors that were installed, by client, holder and scope: so that further calls of a holder need not install again. */
const installed = new WeakMap<RedisClient, WeakMap<Holder, Map<string, number>>>();

export class Call {
  readonly #of: CallOf;

  constructor(of: CallOf) {
    this.#of = of;
  }

  get scripts(): Scripts {
    return this.#of.scripts;
  }

  /** Before the call, and before it writes. */
  assertHeld(): void {
    this.#of.holder.assertHeld?.();
    const aborted = this.#signals().find((signal) => signal.aborted);
    if (aborted !== undefined) throw abortedError(aborted, false);
  }

  async install(): Promise<void> {
    await this.run('install', this.#of.scripts.install);
  }

  async installOnce(): Promise<void> {
    if ((this.#installed().get(this.#of.scope) ?? 0) < floorOf(this.#of.holder)) await this.install();
  }

  /** @returns the replies of what is behind the check */
  async run(
    doing: Doing,
    script: Script,
    keys: readonly string[] = [],
    args: readonly Argument[] = [],
  ): Promise<readonly unknown[]> {
    const { client, scope, holder } = this.#of;
    const floor = floorOf(holder);
    const running = runScript(
      client,
      script,
      [fenceKey(scope), ...keys],
      [padded(holder.token), padded(floor), ...args],
    );
    const answer = await this.race(running, doing).catch((error: unknown) => {
      throw asFenceError(error, doing);
    });
    try {
      const replies = repliesOf(answer, scope, holder.token);
      this.#installed().set(scope, floor);
      return replies;
    } catch (error) {
      // Somebody else's token is there, whatever was.
      if (!(error instanceof CommandFailure)) this.#installed().delete(scope);
      throw error;
    }
  }

  /** Rejects when a signal aborts. What goes on behind that is not awaited, and its failure is nobody's. */
  async race<Result>(work: Promise<Result>, doing?: Doing): Promise<Result> {
    work.catch(() => undefined);
    const signals = this.#signals();
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted !== undefined) throw abortedError(aborted, doing === 'write');
    let timer: NodeJS.Timeout | undefined;
    const stops: (() => void)[] = [];
    const end = new Promise<never>((_, reject) => {
      for (const signal of signals) {
        const stop = (): void => reject(abortedError(signal, doing === 'write'));
        onAbort(signal, stop);
        stops.push(() => offAbort(signal, stop));
      }
      if (doing === undefined) return;
      const { timeoutMs } = this.#of;
      timer = setTimeout(() => reject(lateError(doing, timeoutMs)), timeoutMs);
    });
    try {
      return await Promise.race([work, end]);
    } finally {
      clearTimeout(timer);
      for (const stop of stops) stop();
    }
  }

  #signals(): readonly AbortSignal[] {
    return [this.#of.holder.signal, this.#of.signal].filter((signal) => signal !== undefined);
  }

  #installed(): Map<string, number> {
    const { client, holder } = this.#of;
    const holders = installed.get(client) ?? new WeakMap<Holder, Map<string, number>>();
    installed.set(client, holders);
    const scopes = holders.get(holder) ?? new Map<string, number>();
    holders.set(holder, scopes);
    return scopes;
  }
}

/** @throws FenceError that says which command failed, and what was done before it */
export function failedCommand(error: unknown, names: readonly string[]): FenceError {
  if (!(error instanceof CommandFailure)) return asFenceError(error, 'write');
  const before = error.place - 1;
  const done = before === 0 ? 'nothing was written' : `Redis does not roll back, and the ${before} before it were done`;
  const what = `command ${error.place} of ${names.length} (${names[before] ?? ''}) failed: ${error.message}; ${done}`;
  return new FenceError('RESOURCE', what, { cause: error, indeterminate: before > 0 });
}
