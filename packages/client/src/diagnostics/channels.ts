/**
 * What the client tells `node:diagnostics_channel`, for tracing and metrics: each acquire from its call to its outcome, each hold from its
 * grant to its end, and each event of a client. Nothing is made while nobody listens. `@holdfast/opentelemetry` makes spans of it.
 */

import { channel, type Channel } from 'node:diagnostics_channel';
import type { ClientEvent } from '../events.ts';
import type { LockLossReason } from '../errors.ts';
import type { HoldMode, Wanted } from '../locks/wanted.ts';

/** How an acquire ended: as the `type` of its outcome, `held` for success. `lockHeld`: somebody else had it, and it was not to wait. */
export type AcquireEnd = 'held' | 'lockHeld' | 'timeout' | 'aborted' | 'failed';

/** An acquire. One object is published at its start and at its end, where `outcome` is set. */
export interface AcquireMessage {
  /** The lock's name; of several at once, the first one's. */
  readonly lock: string;
  /** The names of all locks that it asks for: one, unless it is of `client.locks`. */
  readonly locks: readonly string[];
  /** How they are to be held. */
  readonly mode: HoldMode;
  /** How many permits of a semaphore; undefined for every other lock, and for several at once. */
  readonly permits: number | undefined;
  /** How long it may wait, in milliseconds; `Infinity` for no limit, 0 for not at all. */
  readonly waitMs: number;
  /** The client's session at the start; 0 while a resilient client has none. */
  readonly sessionId: number;
  outcome: AcquireEnd | undefined;
  /** The fencing token, where the outcome is `held`. */
  token: number | undefined;
  /** What it failed with or was aborted for. */
  error: unknown;
}

/** A hold. One object is published at its start and at its end, where `reason` is set. */
export interface HoldMessage {
  /** The lock's name; of several at once, the first one's. */
  readonly lock: string;
  /** As for the acquire. */
  readonly locks: readonly string[];
  /** As it was granted. */
  readonly mode: HoldMode;
  /** As for the acquire. */
  readonly permits: number | undefined;
  readonly token: number;
  readonly sessionId: number;
  /** That of the acquire, as it was published, or would have been. */
  readonly acquire: AcquireMessage;
  /** `released`: given back. Anything else: lost. */
  reason: LockLossReason | undefined;
}

/** An event of a client, such as `suspended` or `long-wait`. */
export interface ClientEventMessage {
  readonly event: ClientEvent;
}

/**
 * The names of the channels.
 *
 * @example
 * import { subscribe } from 'node:diagnostics_channel';
 * subscribe(DIAGNOSTICS_CHANNELS.holdEnd, (message) => console.log((message as HoldMessage).reason));
 */
export const DIAGNOSTICS_CHANNELS = {
  /** {@link AcquireMessage}, in the context of the call. */
  acquireStart: 'holdfast:acquire:start',
  /** The same object. */
  acquireEnd: 'holdfast:acquire:end',
  /** {@link HoldMessage}, before the caller is given the hold. */
  holdStart: 'holdfast:hold:start',
  /** The same object. */
  holdEnd: 'holdfast:hold:end',
  /** {@link ClientEventMessage}. */
  event: 'holdfast:event',
} as const;

const acquireStart: Channel = channel(DIAGNOSTICS_CHANNELS.acquireStart);
const acquireEnd: Channel = channel(DIAGNOSTICS_CHANNELS.acquireEnd);
const holdStart: Channel = channel(DIAGNOSTICS_CHANNELS.holdStart);
const holdEnd: Channel = channel(DIAGNOSTICS_CHANNELS.holdEnd);
const event: Channel = channel(DIAGNOSTICS_CHANNELS.event);

/** Undefined while nobody listens. */
export function acquireStarted(
  { lock, locks, mode, permits }: Pick<Wanted, 'lock' | 'locks' | 'mode' | 'permits'>,
  waitMs: number,
  sessionId: number,
): AcquireMessage | undefined {
  const listened =
    acquireStart.hasSubscribers || acquireEnd.hasSubscribers || holdStart.hasSubscribers || holdEnd.hasSubscribers;
  if (!listened) return undefined;
  const unknown = { outcome: undefined, token: undefined, error: undefined };
  const message: AcquireMessage = { lock, locks, mode, permits, waitMs, sessionId, ...unknown };
  acquireStart.publish(message);
  return message;
}

export function acquireEnded(
  message: AcquireMessage,
  outcome: AcquireEnd,
  token: number | undefined,
  error: unknown,
): void {
  message.outcome = outcome;
  message.token = token;
  message.error = error;
  acquireEnd.publish(message);
}

export function holdStarted(acquire: AcquireMessage, token: number, sessionId: number): HoldMessage {
  const { lock, locks, mode, permits } = acquire;
  const message: HoldMessage = { lock, locks, mode, permits, token, sessionId, acquire, reason: undefined };
  holdStart.publish(message);
  return message;
}

export function holdEnded(message: HoldMessage, reason: LockLossReason): void {
  message.reason = reason;
  holdEnd.publish(message);
}

export function eventEmitted(of: ClientEvent): void {
  if (!event.hasSubscribers) return;
  const message: ClientEventMessage = { event: of };
  event.publish(message);
}
