/**
 * How two replicas show each other that they know the group's secret, before anything else is said:
 *
 *     dialer    hello    who I am, whom I look for, a nonce
 *     listener  challenge  a nonce, and a proof over both
 *     dialer    answer   a proof over both
 *
 * A proof is an HMAC-SHA256 under the secret, over the role, the group, both names and both nonces: none serves twice, nor in the other
 * direction. It shows who the other end is when the connection is made. It encrypts nothing.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';

import type { ReplicaId } from '../core/index.ts';
import { Head, isObject } from './head.ts';

export const NONCE_BYTES = 16;
/** Bytes of a secret; a shorter one could be guessed. */
export const MIN_SECRET_BYTES = 16;
const PROTOCOL = 'holdfast-fenced-kv-replica';
const VERSION = 1;
const MAX_NAME_LENGTH = 128;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** The other end is not a replica of this group, or of another version. Its message says which. */
export class HandshakeError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'HandshakeError';
  }
}

export interface Hello {
  readonly group: string;
  readonly from: ReplicaId;
  readonly to: ReplicaId;
  /** Hexadecimal digits. */
  readonly nonce: string;
}

interface Challenge {
  readonly nonce: string;
  readonly proof: string;
}

type Role = 'dialer' | 'listener';

/** What a role proves. */
export function proofOf(secret: Uint8Array, role: Role, { group, from, to, nonce }: Hello, answer: string): string {
  const said = [PROTOCOL, String(VERSION), role, group, from, to, nonce, answer];
  return createHmac('sha256', secret).update(said.join('\0')).digest('hex');
}

/** @throws HandshakeError */
export function assertProof(expected: string, proof: string): void {
  const [a, b] = [encoder.encode(expected), encoder.encode(proof)];
  if (a.length === b.length && timingSafeEqual(a, b)) return;
  throw new HandshakeError('the other end does not know the secret of this group; give all replicas the same one');
}

export function encodeHello(hello: Hello): Uint8Array {
  return encoder.encode(JSON.stringify({ protocol: PROTOCOL, version: VERSION, ...hello }));
}

/** @throws HandshakeError */
export function decodeHello(frame: Uint8Array): Hello {
  const head = headOf(frame);
  const protocol = head.text('protocol', MAX_NAME_LENGTH);
  if (protocol !== PROTOCOL) throw new HandshakeError('the other end is no replica of a fenced store');
  const version = head.integer('version');
  if (version !== VERSION) {
    throw new HandshakeError(`the other end speaks version ${version}, and this one ${VERSION}; run the same program`);
  }
  const [group, from, to] = [
    head.text('group', MAX_NAME_LENGTH),
    head.text('from', MAX_NAME_LENGTH),
    head.text('to', MAX_NAME_LENGTH),
  ];
  return { group, from, to, nonce: nonceOf(head) };
}

export function encodeChallenge(challenge: Challenge): Uint8Array {
  return encoder.encode(JSON.stringify(challenge));
}

/** @throws HandshakeError */
export function decodeChallenge(frame: Uint8Array): Challenge {
  const head = headOf(frame);
  return { nonce: nonceOf(head), proof: head.text('proof', MAX_NAME_LENGTH) };
}

export function encodeAnswer(proof: string): Uint8Array {
  return encoder.encode(JSON.stringify({ proof }));
}

/** @throws HandshakeError */
export function decodeAnswer(frame: Uint8Array): string {
  return headOf(frame).text('proof', MAX_NAME_LENGTH);
}

function nonceOf(head: Head): string {
  const nonce = head.text('nonce', 2 * NONCE_BYTES);
  if (nonce.length !== 2 * NONCE_BYTES) throw new HandshakeError('the other end sent a nonce of another length');
  return nonce;
}

function headOf(frame: Uint8Array): Head {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(frame));
  } catch {
    throw new HandshakeError('the other end sent something that is no handshake');
  }
  if (!isObject(value)) throw new HandshakeError('the other end sent something that is no handshake');
  return new Head(value, (problem) => new HandshakeError(`the handshake of the other end ${problem}`));
}
