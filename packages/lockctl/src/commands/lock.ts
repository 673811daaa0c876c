/**
 * `lockctl lock NAME -- CMD…`: runs CMD while holding the lock. When the lock is lost the command's process group is ended, but a
 * process can be too slow to end: what protects the resource is the token, which the command finds in HOLDFAST_TOKEN.
 */

import type { ChildCommand, CommandEnd } from '../child-command.ts';
import type { EnsembleClient, HeldLock, LockHolder } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { EXIT_LOST, EXIT_NOT_ACQUIRED, EXIT_SIGNAL_BASE } from '../exit-code.ts';
import { codeOf, CommandFailure, reportFailure } from '../failure.ts';
import { printable } from '../output/text.ts';

export interface LockRequest {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Undefined waits without limit; 0 does not even enqueue. */
  readonly waitMs: number | undefined;
  /** How much of that has passed already. */
  readonly waitedMs: number;
  /** Says nothing of the wait. */
  readonly quiet: boolean;
}

/** How long it is asked who holds a lock that was not acquired. */
const HOLDER_TIMEOUT_MS = 1_000;
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
  const cancelNotice = request.quiet ? () => {} : noticeLater(client, request.name, outside);
  try {
    const held = await acquire(client, request, signals);
    cancelNotice();
    if (held === undefined) return signals.exitCode;
    if (signals.interrupted.aborted) {
      await release(held, request.name, outside);
      return signals.exitCode;
    }
    return await runHolding(held, request, signals, outside);
  } finally {
    cancelNotice();
    signals.close();
  }
}

/** One line, unless the wait is over by then: what returns ends it. */
function noticeLater(client: EnsembleClient, name: string, outside: Environment): () => void {
  let over = false;
  const cancel = outside.after(NOTICE_AFTER_MS, () => {
    void describeWait(client, name).then((text) => {
      if (!over) outside.writeError(`lockctl: waiting for lock "${printable(name)}"${text}\n`);
    });
  });
  return () => {
    over = true;
    cancel();
  };
}

async function describeWait(client: EnsembleClient, name: string): Promise<string> {
  try {
    const { holders, waiters } = await client.admin.lock(name, { timeoutMs: HOLDER_TIMEOUT_MS });
    const [holder] = holders;
    const others = Math.max(0, waiters.length - 1);
    const queue = others === 0 ? '' : `; ${others} more ${others === 1 ? 'waits' : 'wait'} for it`;
    return `${holder === undefined ? '' : heldBy(holder)}${queue}`;
  } catch (error) {
    return `, and who holds it could not be asked: ${reportFailure(error).message}`;
  }
}

/** Undefined when a signal ended the wait. */
async function acquire(
  client: EnsembleClient,
  { name, waitMs, waitedMs }: LockRequest,
  { interrupted }: SignalRelay,
): Promise<HeldLock | undefined> {
  try {
    if (waitMs === undefined) return await client.lock(name).acquire({ signal: interrupted });
    const leftMs = waitMs === 0 ? 0 : Math.max(1, waitMs - waitedMs);
    const attempt = await client.lock(name).tryAcquire({ waitMs: leftMs, signal: interrupted });
    if (attempt.acquired) return attempt.held;
    if (interrupted.aborted) return undefined;
    const by = attempt.holder === undefined ? await findHolder(client, name) : heldBy(attempt.holder);
    throw new CommandFailure(notAcquired(name, waitMs, by), EXIT_NOT_ACQUIRED);
  } catch (error) {
    if (interrupted.aborted) return undefined;
    throw error;
  }
}

/** For the message alone: that it cannot be asked is no failure of its own, but may be why the lock was not acquired. */
async function findHolder(client: EnsembleClient, name: string): Promise<string> {
  try {
    const [holder] = (await client.admin.lock(name, { timeoutMs: HOLDER_TIMEOUT_MS })).holders;
    return holder === undefined ? '' : heldBy(holder);
  } catch (error) {
    return `, and who holds it could not be asked: ${reportFailure(error).message}`;
  }
}

function heldBy({ session, label, token }: LockHolder): string {
  return `, held by session ${session}${label === '' ? '' : ` (${printable(label)})`} with token ${token}`;
}

function notAcquired(name: string, waitMs: number, by: string): string {
  const time = waitMs === 0 ? 'is not free' : `was not acquired within ${waitMs / 1_000} s`;
  return `lock "${printable(name)}" ${time}${by}; see its queue with "lockctl show", or wait longer with --wait`;
}

async function runHolding(
  held: HeldLock,
  request: LockRequest,
  signals: SignalRelay,
  outside: Environment,
): Promise<number> {
  const { name, command, args } = request;
  if (held.signal.aborted) throw lost(name);
  const token = { HOLDFAST_LOCK: name, HOLDFAST_TOKEN: String(held.token) };
  const child = outside.startCommand({ command, args, variables: { ...outside.variables, ...token } });
  signals.relayTo(child);
  const whenLost = onLoss(held, async () => {
    outside.writeError(`lockctl: lock "${printable(name)}" is lost; ending the command\n`);
    await child.terminate(LOST_GRACE_MS);
  });
  const end = await child.ended;
  if (held.signal.aborted) {
    await whenLost.finished();
    throw lost(name);
  }
  whenLost.cancel();
  await release(held, name, outside);
  return report(end);
}

function report(end: CommandEnd): number {
  if (end.startFailure !== undefined) throw new CommandFailure(end.startFailure, end.exitCode);
  return end.exitCode;
}

/** @throws CommandFailure when the lock turns out to have been lost before */
async function release(held: HeldLock, name: string, outside: Environment): Promise<void> {
  try {
    held.assertHeld();
    await held.release();
  } catch (error) {
    if (codeOf(error) === 'LOCK_LOST') throw lost(name);
    const { message } = reportFailure(error);
    outside.writeError(`lockctl: the lock could not be released and goes with its session: ${message}\n`);
  }
}

function lost(name: string): CommandFailure {
  const advice = 'what it wrote after that counts only where its token was checked; run it again';
  return new CommandFailure(`lock "${printable(name)}" was lost while the command ran; ${advice}`, EXIT_LOST);
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
