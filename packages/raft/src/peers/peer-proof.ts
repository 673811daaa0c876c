/**
 * Proofs that a server knows a secret, which do not reveal it: an HMAC by the secret over what both sides have said so far. Good for one
 * connection, in one direction, between the two servers that the hello names.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';

export type Side = 'dialer' | 'listener';

/** What a proof is for. */
export interface Greeting {
  /** The hello as it was sent; it names both servers and the cluster, and has the dialler's nonce. */
  readonly hello: Uint8Array;
  /** The listener's. */
  readonly nonce: Uint8Array;
}

/** `revealed`: what the side reveals of itself with the proof. */
export function proofOf(secret: string, side: Side, { hello, nonce }: Greeting, revealed = ''): Uint8Array {
  const hmac = createHmac('sha256', secret).update(`holdfast peer ${side} ${revealed.length}:${revealed} `);
  return new Uint8Array(hmac.update(nonce).update(hello).digest());
}

/** Whether one of the proofs is by the secret; an empty one proves nothing. */
export function proves(
  proofs: readonly Uint8Array[],
  secret: string,
  side: Side,
  greeting: Greeting,
  revealed = '',
): boolean {
  if (secret === '') return false;
  const expected = proofOf(secret, side, greeting, revealed);
  return proofs.some((proof) => proof.length === expected.length && timingSafeEqual(proof, expected));
}
