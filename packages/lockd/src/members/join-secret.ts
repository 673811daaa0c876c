/**
 * What a server that waits to be added shows to its operator, who takes it to the ensemble: whoever then proves to know it is believed.
 * Made from its incarnation and the time, so that it is the same after a restart, and another one every half hour; the one before still
 * counts, so that each is good for half an hour at least and an hour at most. Once the server is a member it counts no more.
 */

import { createHmac } from 'node:crypto';
import { JOIN_SECRET_PERIOD_MS } from '../limits.ts';

const SECRET_BYTES = 16;

/** The present one first. */
export function joinSecretsAt(incarnation: string, wallMs: number): readonly [string, string] {
  const period = Math.floor(wallMs / JOIN_SECRET_PERIOD_MS);
  return [joinSecret(incarnation, period), joinSecret(incarnation, period - 1)];
}

/** Until the next one is made. */
export function joinSecretLastsMs(wallMs: number): number {
  return JOIN_SECRET_PERIOD_MS - (wallMs % JOIN_SECRET_PERIOD_MS);
}

function joinSecret(incarnation: string, period: number): string {
  const bytes = createHmac('sha256', incarnation).update(`holdfast join secret ${period}`).digest();
  return bytes.subarray(0, SECRET_BYTES).toString('hex');
}
