/**
 * When TCP sends again what was not acknowledged (RFC 6298, with Linux's bounds): after a pause that doubles each time, and that the end
 * of a fault does not shorten. Without the repeats that go faster when later segments arrive, so never sooner than the real one.
 */

import { toTicks } from '../scheduler.ts';

const FIRST_PAUSE_MS = 200;
/** Of the opening of a connection, when nothing is known of the way yet. */
const FIRST_OPENING_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 120_000;

/** `attempts`: how often it was sent again already. */
export function retransmissionPauseTicks(attempts: number, opening: boolean): number {
  const firstMs = opening ? FIRST_OPENING_PAUSE_MS : FIRST_PAUSE_MS;
  return toTicks(Math.min(MAX_PAUSE_MS, firstMs * 2 ** Math.min(attempts, 20)));
}
