/**
 * `lockctl lock NAME… -- CMD…`: runs CMD while holding the lock, or all of them. When it is lost the command's process group is ended, but a
 * process can be too slow to end: what protects the resource is the token, which the command finds in HOLDFAST_TOKEN.
 */

import type { LockMode } from '../arguments.ts';
import type { ChildCommand, CommandEnd } from '../child-command.ts';
import type { EnsembleClient, HeldLock, Lockable } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { EXIT_LOST, EXIT_NOT_ACQUIRED, EXIT_SIGNAL_BASE } from '../exit-code.ts';
import { codeOf, CommandFailure, reportFailure } from '../failure.ts';
import { describeWait, findHolder, isOrAre, locksText, notAcquired, refusedFor, wasOrWere } from './lock-text.ts';

export interface LockRequest {
  /** One, or several that are taken at once. */
  readonly names: readonly string[];
  /** Of each of them. */
  readonly mode: LockMode;
  /** How many are taken of a semaphore. */
  readonly permits: number;
  /** For how long the next grant waits when this hold was lost. */
  readonly lockDelayMs: number;
  readonly command: string;
  readonly args: readonly string[];
  /** Undefined waits without limit; 0 does not even enqueue. */
  readonly waitMs: number | undefined;
  /** How much of that has passed already. */
  readonly waitedMs: number;
  /** Says nothing of the wait. */
  readonly quiet: boolean;
}

/** Who has waited so long is told for whom. */
const NOTICE_AFTER_MS = 1_000;
/** How long the command's group has after SIGTERM. */
export const LOST_GRACE_MS = 5_000;

const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/** Resolves with the exit code. @throws CommandFailure when the lock was not acquired, or was lost */
export async function runUnderLock(
  client: EnsembleClient,
  request: LockRequest,
  outside: Environment,
): Promise<number> {
  const signals = new SignalRelay(outside);
  const cancelNotice = request.quiet ? () => {} : noticeLater(client, request.names, outside);
  try {
    const held = await acquire(client, request, signals);
    cancelNotice();
    if (held === undefined) return signals.exitCode;
    if (signals.interrupted.aborted) {
      await release(held, request.names, outside);
      return signals.exitCode;
    }
    return await runHolding(held, request, signals, outside);
  } finally {
    cancelNotice();
    signals.close();
  }
}

/** One line, unless the wait is over by then: what returns ends it. */
function noticeLater(client: EnsembleClient, names: readonly string[], outside: Environment): () => void {
  let over = false;
  const cancel = outside.after(NOTICE_AFTER_MS, () => {
    void describeWait(client, names).then((text) => {
      if (!over) outside.writeError(`lockctl: waiting for ${locksText(names)}${text}\n`);
    });
  });
  return () => {
    over = true;
    cancel();
  };
}

/** Undefined when a signal ended the wait. */
async function acquire(
  client: EnsembleClient,
  request: LockRequest,
  { interrupted }: SignalRelay,
): Promise<HeldLock | undefined> {
  const { names, waitMs, waitedMs } = request;
  try {
    const lock = lockOf(client, request);
    if (waitMs === undefined) return await lock.acquire({ signal: interrupted });
    const leftMs = waitMs === 0 ? 0 : Math.max(1, waitMs - waitedMs);
    const attempt = await lock.tryAcquire({ waitMs: leftMs, signal: interrupted });
    if (attempt.acquired) return attempt.held;
    if (interrupted.aborted) return undefined;
    const by = attempt.holder === undefined ? await findHolder(client, names) : refusedFor(attempt.holder, names);
    throw new CommandFailure(notAcquired(names, waitMs, by), EXIT_NOT_ACQUIRED);
  } catch (error) {
    if (interrupted.aborted) return undefined;
    throw error;
  }
}

function lockOf(client: EnsembleClient, request: LockRequest): Lockable {
  const all = request.names.map((name) => inMode(client, name, request));
  const [only] = all;
  return all.length === 1 && only !== undefined ? only : client.locks(all);
}

function inMode(client: EnsembleClient, name: string, { mode, permits, lockDelayMs }: LockRequest): Lockable {
  switch (mode.type) {
    case 'exclusive':
      return client.lock(name, { lockDelayMs });
    case 'read':
      return client.readWriteLock(name, { lockDelayMs }).read();
    case 'write':
      return client.readWriteLock(name, { lockDelayMs }).write();
    case 'semaphore':
      return client.semaphore(name, { permits: mode.permits, lockDelayMs }).lock({ permits });
  }
}

async function runHolding(
  held: HeldLock,
  request: LockRequest,
  signals: SignalRelay,
  outside: Environment,
): Promise<number> {
  const { names, command, args } = request;
  if (held.signal.aborted) throw lost(names);
  const [first = ''] = names;
  const own = { HOLDFAST_LOCK: first, HOLDFAST_LOCKS: names.join('\n'), HOLDFAST_TOKEN: String(held.token) };
  const child = outside.startCommand({ command, args, variables: { ...outside.variables, ...own } });
  signals.relayTo(child);
  const whenLost = onLoss(held, async () => {
    outside.writeError(`lockctl: ${locksText(names)} ${isOrAre(names)} lost; ending the command\n`);
    await child.terminate(LOST_GRACE_MS);
  });
  const end = await child.ended;
  if (held.signal.aborted) {
    await whenLost.finished();
    throw lost(names);
  }
  whenLost.cancel();
  await release(held, names, outside);
  return report(end);
}

function report(end: CommandEnd): number {
  if (end.startFailure !== undefined) throw new CommandFailure(end.startFailure, end.exitCode);
  return end.exitCode;
}

/** @throws CommandFailure when the lock turns out to have been lost before */
async function release(held: HeldLock, names: readonly string[], outside: Environment): Promise<void> {
  try {
    held.assertHeld();
    await held.release();
  } catch (error) {
    if (codeOf(error) === 'LOCK_LOST') throw lost(names);
    const { message } = reportFailure(error);
    outside.writeError(`lockctl: the lock could not be released and goes with its session: ${message}\n`);
  }
}

function lost(names: readonly string[]): CommandFailure {
  const advice = 'what it wrote after that counts only where its token was checked; run it again';
  const text = `${locksText(names)} ${wasOrWere(names)} lost while the command ran; ${advice}`;
  return new CommandFailure(text, EXIT_LOST);
}

function onLoss(held: HeldLock, end: () => Promise<void>): { finished(): Promise<void>; cancel(): void } {
  let ending = Promise.resolve();
  const listener = (): void => {
    ending = end();
  };
  held.signal.addEventListener('abort', listener, { once: true });
  return { finished: () => ending, cancel: () => held.signal.removeEventListener('abort', listener) };
}

/** Signals end the wait for the lock, and go to the command once it runs. */
class SignalRelay {
  readonly #interrupt = new AbortController();
  readonly #unsubscribe: () => void;
  #child: ChildCommand | undefined;
  #first: NodeJS.Signals | undefined;

  constructor(outside: Environment) {
    this.#unsubscribe = outside.onSignal((signal) => {
      if (signal === 'SIGTSTP') {
        // Stopped, lockctl could not renew its session, and the command would run on without the lock.
        outside.writeError('lockctl: Ctrl-Z is ignored, since the lock would be lost; end the command instead\n');
        return;
      }
      this.#first ??= signal;
      if (this.#child === undefined) this.#interrupt.abort(new Error(`ended by ${signal}`));
      else this.#child.signal(signal);
    });
  }

  get interrupted(): AbortSignal {
    return this.#interrupt.signal;
  }

  get exitCode(): number {
    return EXIT_SIGNAL_BASE + (SIGNAL_NUMBERS[this.#first ?? 'SIGTERM'] ?? 0);
  }

  relayTo(child: ChildCommand): void {
    this.#child = child;
  }

  close(): void {
    this.#unsubscribe();
  }
}
