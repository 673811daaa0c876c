/**
 * How two servers greet each other on a new connection, before anything else is said: hello, challenge, proof, welcome; and the news of an
 * expulsion, which may follow. Each frame is one tuple, whose place in the conversation says which. Who proves what is in greeting.ts and
 * peer-listener.ts.
 */

import { NO_FEATURES, pack, unpackTuple, type FeatureSet } from '@holdfast/protocol';
import {
  choice,
  exactBytes,
  exactBytesOrNone,
  flag,
  integer,
  record,
  shortList,
  text,
  trailingUnless,
  type Field,
  type ValueOf,
} from '@holdfast/protocol/schema';

import type { Expulsion } from './expelled-error.ts';
import { serverField } from './raft-fields.ts';

export const PEER_PROTOCOL_VERSION = 2;
/** What a connection may send in all before it is admitted. */
export const MAX_GREETING_BYTES = 4_096;
export const NONCE_BYTES = 32;
const PROOF_BYTES = 32;

const MAX_TEXT_LENGTH = 300;
/** A server has few secrets: its incarnation, and its join secrets while it joins. */
const MAX_PROOFS = 8;
/** Voter sets, and voters in one. */
const MAX_SETS = 2;
const MAX_VOTERS = 31;

/**
 * What a connection is for.
 *   log         Raft's messages and the machine's; only the side that dialled speaks
 *   snapshot    one snapshot for the side that was dialled
 *   expulsion   to notify the side that was dialled that the ensemble goes on without it
 */
const PURPOSES = ['log', 'snapshot', 'expulsion'] as const;
export type PeerPurpose = (typeof PURPOSES)[number];

const EXPULSIONS = ['MEMBER_REMOVED', 'WRONG_INCARNATION'] as const satisfies readonly Expulsion[];

const nonce = copied(exactBytes(NONCE_BYTES));
const proof = copied(exactBytes(PROOF_BYTES));
const proofs = shortList(MAX_PROOFS, proof, 'proof');
/** By the receiver's secret, as the sender knows it; empty when it knows none. */
const yourProof = copied(exactBytesOrNone(PROOF_BYTES));

/** What the side that dialled says first. Nothing of it is secret: it may be said to a stranger who has the peer's address. */
export const peerHello = record({
  /** In every version the first field. */
  version: integer(),
  /** Offered. */
  features: integer(),
  clusterId: text(MAX_TEXT_LENGTH),
  from: serverField,
  to: serverField,
  clientAddress: text(MAX_TEXT_LENGTH),
  purpose: choice(PURPOSES),
  /** The receiver must know them. */
  required: integer(),
  /** Where the sender is reached, by those who do not know it yet and to whom it proves that it belongs to them. */
  peerAddress: text(MAX_TEXT_LENGTH),
  /** Fresh. The receiver's proofs are for this one. */
  nonce,
  /** Purpose `expulsion`: the nonce of the hello that the sender has refused. */
  echo: copied(exactBytesOrNone(NONCE_BYTES)),
});
export type PeerHello = ValueOf<typeof peerHello>;

/** What the side that was dialled answers to every hello. */
export const peerChallenge = record({
  /** Fresh. The proofs of both sides are for this one. */
  nonce,
  /** One for each of the sender's secrets. */
  ownProofs: proofs,
  yourProof,
  /** The sender does not know the incarnation of whom the hello names. */
  wantsIncarnation: flag(),
});
export type PeerChallenge = ValueOf<typeof peerChallenge>;

/** What the side that dialled answers to the challenge. */
export const peerProof = record({
  /** Named to whom it may be named and who wants it; empty otherwise. */
  incarnation: text(MAX_TEXT_LENGTH),
  ownProofs: proofs,
  yourProof,
});
export type PeerProof = ValueOf<typeof peerProof>;

/** The proof was accepted: now the side that dialled may speak. */
export const peerWelcome = record({
  /** What both offer. */
  features: trailingUnless(NO_FEATURES, integer()),
});

/** Why the ensemble goes on without the receiver, and whose majorities decide so. */
export const expulsionNotice = record({
  expulsion: choice(EXPULSIONS),
  voterSets: shortList(MAX_SETS, shortList(MAX_VOTERS, serverField, 'voter'), 'set'),
});
export type ExpulsionNotice = ValueOf<typeof expulsionNotice>;

export function encodeHello(hello: PeerHello): Uint8Array {
  return pack(peerHello.writeTuple(hello));
}

/** Of a hello of any version. @throws MalformedError */
export function helloVersion(frame: Uint8Array): number {
  return unpackTuple(frame, 'hello').integer('version');
}

/** @throws MalformedError */
export function decodeHello(frame: Uint8Array): PeerHello {
  return peerHello.readTuple(unpackTuple(frame, 'hello'));
}

export function encodeChallenge(challenge: PeerChallenge): Uint8Array {
  return pack(peerChallenge.writeTuple(challenge));
}

/** @throws MalformedError */
export function decodeChallenge(frame: Uint8Array): PeerChallenge {
  return peerChallenge.readTuple(unpackTuple(frame, 'challenge'));
}

export function encodeProof(shown: PeerProof): Uint8Array {
  return pack(peerProof.writeTuple(shown));
}

/** @throws MalformedError */
export function decodeProof(frame: Uint8Array): PeerProof {
  return peerProof.readTuple(unpackTuple(frame, 'proof'));
}

export function encodeWelcome(features: FeatureSet): Uint8Array {
  return pack(peerWelcome.writeTuple({ features }));
}

/** @throws MalformedError */
export function decodeWelcome(frame: Uint8Array): FeatureSet {
  return peerWelcome.readTuple(unpackTuple(frame, 'welcome')).features;
}

export function encodeExpulsion(notice: ExpulsionNotice): Uint8Array {
  return pack(expulsionNotice.writeTuple(notice));
}

/** @throws MalformedError */
export function decodeExpulsion(frame: Uint8Array): ExpulsionNotice {
  return expulsionNotice.readTuple(unpackTuple(frame, 'expulsion'));
}

/** Not a view: the frame is not kept for it. */
function copied(of: Field<Uint8Array>): Field<Uint8Array> {
  return { ...of, read: (reader, name) => Uint8Array.from(of.read(reader, name)) };
}
