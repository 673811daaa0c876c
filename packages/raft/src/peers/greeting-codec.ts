/**
 * How two servers greet each other on a new connection, before anything else is said: hello, challenge, proof, welcome. Who proves what
 * is in greeting.ts and peer-listener.ts; docs/formats.md has the tables.
 */

import { MalformedError, NO_FEATURES, pack, unpackTuple, type FeatureSet, type TupleReader } from '@holdfast/protocol';
import { serverId, type ServerId } from '../core/index.ts';
import type { Expulsion } from './expelled-error.ts';

export const PEER_PROTOCOL_VERSION = 2;
/** What a connection may send in all before it is admitted. */
export const MAX_GREETING_BYTES = 4_096;
export const NONCE_BYTES = 32;
export const PROOF_BYTES = 32;

const MAX_TEXT_LENGTH = 300;
/** A server has few secrets: its incarnation, and its join secrets while it joins. */
const MAX_PROOFS = 8;
/** Voter sets, and voters in one. */
const MAX_SETS = 2;
const MAX_VOTERS = 31;

/** What the side that dialled says first. Nothing of it is secret: it may be said to a stranger who has the peer's address. */
export interface PeerHello {
  readonly version: number;
  /** Offered. */
  readonly features: FeatureSet;
  readonly clusterId: string;
  readonly from: ServerId;
  readonly to: ServerId;
  readonly clientAddress: string;
  /** What the connection is for. @default log */
  readonly purpose?: PeerPurpose;
  /** The receiver must know them. */
  readonly required: FeatureSet;
  /** Where the sender is reached, by those who do not know it yet and to whom it proves that it belongs to them. */
  readonly peerAddress: string;
  /** Fresh. The receiver's proofs are for this one. */
  readonly nonce: Uint8Array;
  /** Purpose `expulsion`: the nonce of the hello that the sender has refused. */
  readonly echo: Uint8Array;
}

export type PeerPurpose =
  /** Raft's messages and the machine's; only the side that dialed speaks. */
  | 'log'
  /** One snapshot for the side that was dialed. */
  | 'snapshot'
  /** To tell the side that was dialed that the ensemble goes on without it. */
  | 'expulsion';

/** What the side that was dialled answers to every hello. */
export interface PeerChallenge {
  /** Fresh. The proofs of both sides are for this one. */
  readonly nonce: Uint8Array;
  /** One for each of the sender's secrets. */
  readonly ownProofs: readonly Uint8Array[];
  /** By the secret of whom the hello names, as the sender knows it; empty when it knows none. */
  readonly yourProof: Uint8Array;
  /** The sender does not know the incarnation of whom the hello names. */
  readonly wantsIncarnation: boolean;
}

export interface PeerProof {
  /** Told to whom it may be told and who wants it; empty otherwise. */
  readonly incarnation: string;
  readonly ownProofs: readonly Uint8Array[];
  readonly yourProof: Uint8Array;
}

/** Why the ensemble goes on without the receiver, and whose majorities decide so. */
export interface ExpulsionNotice {
  readonly expulsion: Expulsion;
  readonly voterSets: readonly (readonly ServerId[])[];
}

const PURPOSES: readonly PeerPurpose[] = ['log', 'snapshot', 'expulsion'];
const EXPULSION_CODES: readonly Expulsion[] = ['MEMBER_REMOVED', 'WRONG_INCARNATION'];

export function encodeHello(hello: PeerHello): Uint8Array {
  return pack([
    hello.version,
    hello.features,
    hello.clusterId,
    hello.from,
    hello.to,
    hello.clientAddress,
    PURPOSES.indexOf(hello.purpose ?? 'log'),
    hello.required,
    hello.peerAddress,
    hello.nonce,
    hello.echo,
  ]);
}

/** In every version the first field. @throws MalformedError */
export function helloVersion(frame: Uint8Array): number {
  return unpackTuple(frame, 'hello').integer('version');
}

/** @throws MalformedError */
export function decodeHello(frame: Uint8Array): PeerHello {
  const reader = unpackTuple(frame, 'hello');
  return {
    version: reader.integer('version'),
    features: reader.integer('features'),
    clusterId: reader.string('clusterId', MAX_TEXT_LENGTH),
    from: serverId(reader.integer('from')),
    to: serverId(reader.integer('to')),
    clientAddress: reader.string('clientAddress', MAX_TEXT_LENGTH),
    purpose: readPurpose(reader),
    required: reader.remaining > 0 ? reader.integer('required') : NO_FEATURES,
    peerAddress: reader.string('peerAddress', MAX_TEXT_LENGTH),
    nonce: exactly(reader, 'nonce', NONCE_BYTES),
    echo: orNone(reader, 'echo', NONCE_BYTES),
  };
}

export function encodeChallenge({ nonce, ownProofs, yourProof, wantsIncarnation }: PeerChallenge): Uint8Array {
  return pack([nonce, ownProofs, yourProof, wantsIncarnation]);
}

/** @throws MalformedError */
export function decodeChallenge(frame: Uint8Array): PeerChallenge {
  const reader = unpackTuple(frame, 'challenge');
  return {
    nonce: exactly(reader, 'nonce', NONCE_BYTES),
    ownProofs: readProofs(reader),
    yourProof: orNone(reader, 'yourProof', PROOF_BYTES),
    wantsIncarnation: reader.boolean('wantsIncarnation'),
  };
}

export function encodeProof({ incarnation, ownProofs, yourProof }: PeerProof): Uint8Array {
  return pack([incarnation, ownProofs, yourProof]);
}

/** @throws MalformedError */
export function decodeProof(frame: Uint8Array): PeerProof {
  const reader = unpackTuple(frame, 'proof');
  return {
    incarnation: reader.string('incarnation', MAX_TEXT_LENGTH),
    ownProofs: readProofs(reader),
    yourProof: orNone(reader, 'yourProof', PROOF_BYTES),
  };
}

/** The proof was accepted: now the side that dialled may speak. `features`: what both offer. */
export function encodeWelcome(features: FeatureSet): Uint8Array {
  return pack(features === NO_FEATURES ? [] : [features]);
}

/** @throws MalformedError */
export function decodeWelcome(frame: Uint8Array): FeatureSet {
  const reader = unpackTuple(frame, 'welcome');
  return reader.remaining > 0 ? reader.integer('features') : NO_FEATURES;
}

export function encodeExpulsion({ expulsion, voterSets }: ExpulsionNotice): Uint8Array {
  return pack([EXPULSION_CODES.indexOf(expulsion), voterSets]);
}

/** @throws MalformedError */
export function decodeExpulsion(frame: Uint8Array): ExpulsionNotice {
  const reader = unpackTuple(frame, 'expulsion');
  const expulsion = EXPULSION_CODES[reader.integer('reason')];
  if (expulsion === undefined) throw new MalformedError('an expulsion has an unknown reason');
  const voterSets = reader.list('voterSets', readVoters);
  if (voterSets.length > MAX_SETS) throw new MalformedError(`an expulsion has ${voterSets.length} sets of voters`);
  return { expulsion, voterSets };
}

function readVoters(reader: TupleReader): readonly ServerId[] {
  if (reader.remaining > MAX_VOTERS) throw new MalformedError(`an expulsion has ${reader.remaining} voters`);
  const voters: ServerId[] = [];
  while (reader.remaining > 0) voters.push(serverId(reader.integer('voter')));
  return voters;
}

function readPurpose(reader: TupleReader): PeerPurpose {
  const purpose = PURPOSES[reader.integer('purpose')];
  if (purpose === undefined) throw new MalformedError('a hello has an unknown purpose');
  return purpose;
}

function readProofs(reader: TupleReader): readonly Uint8Array[] {
  const proofs = reader.fields('ownProofs', (each) => exactly(each, 'proof', PROOF_BYTES));
  if (proofs.length > MAX_PROOFS) throw new MalformedError(`${proofs.length} proofs are more than ${MAX_PROOFS}`);
  return proofs;
}

/** A copy: the frame is not kept for it. */
function exactly(reader: TupleReader, name: string, length: number): Uint8Array {
  const bytes = reader.bytes(name, length);
  if (bytes.length !== length) throw new MalformedError(`${name} has ${bytes.length} bytes, not ${length}`);
  return Uint8Array.from(bytes);
}

function orNone(reader: TupleReader, name: string, length: number): Uint8Array {
  const bytes = reader.bytes(name, length);
  if (bytes.length !== length && bytes.length > 0)
    throw new MalformedError(`${name} has ${bytes.length} bytes, not ${length}`);
  return Uint8Array.from(bytes);
}
