/**
 * What lockds say to each other, forged: entries of other clients' sessions that are forwarded, renewals and digests that never were, answers to
 * reads, the end of writing. From whoever cannot prove that it is a member, none of it is even read.
 */

import { CommandType, LockKind, encodeCommand, pack, type Command } from '@holdfast/protocol';
import { encodeEntry } from '@holdfast/state';
import { encodePeerMessages, type PeerMessage } from '../../../src/peers/peer-message.ts';
import type { HostileBytes } from './hostile-bytes.ts';

/** The type of an item that is for the replicated machine. */
const MACHINE_ITEM = 0;
/** Sessions, generations and requests that a small ensemble has. */
const REAL_SESSIONS = 300;
const REAL_GENERATIONS = 3;
const REAL_NUMBERS = 50;

/** A frame as members send it, with one or more messages of a lockd. */
export function forgedMachineFrame(bytes: HostileBytes, lock: string): Uint8Array {
  const messages = Array.from({ length: 1 + bytes.random.integer(3) }, () => forgedMessage(bytes, lock));
  return pack([[MACHINE_ITEM, encodePeerMessages(messages)]]);
}

function forgedMessage(bytes: HostileBytes, lock: string): PeerMessage {
  const { random } = bytes;
  const index = bytes.index();
  switch (random.integer(8)) {
    case 0:
      return { type: 'keep-alive-ack', batch: random.integer(10), except: [session(bytes)] };
    case 1:
      return { type: 'halted', index };
    case 2:
      return { type: 'state-digest', index, digest: bytes.index() };
    case 3:
      return { type: 'diverged', index, digest: bytes.index() };
    case 4:
      return { type: 'read-index-answer', batch: random.integer(10), index };
    default: {
      const entries = Array.from({ length: 1 + random.integer(4) }, () => forgedEntry(bytes, lock));
      return { type: 'forward', epoch: bytes.pick([1, 2, index]), entries };
    }
  }
}

/** In the name of a session of somebody else. */
function forgedEntry(bytes: HostileBytes, lock: string): Uint8Array {
  const { random } = bytes;
  const command = forgedCommand(bytes, lock);
  const real = { generation: 1 + random.integer(REAL_GENERATIONS), number: random.integer(REAL_NUMBERS) };
  const { generation, number } = bytes.chance(0.7) ? real : { generation: 0xffff_ffff, number: bytes.number() };
  const header = { command: CommandType[command.type], generation, session: session(bytes), number, ackedUpTo: number };
  return encodeEntry(header, encodeCommand(command));
}

function forgedCommand(bytes: HostileBytes, lock: string): Command {
  const { random } = bytes;
  switch (random.integer(5)) {
    case 0:
      return { type: 'closeSession', session: bytes.pick([0, session(bytes)]) };
    case 1:
      return { type: 'attach', secretHash: random.bytes(32), session: session(bytes), timeoutMs: 30_000, label: '' };
    case 2:
      return { type: 'acquire', lock, kind: LockKind.mutex, wait: true };
    case 3:
      return { type: 'expireSession', session: session(bytes), generation: 1 };
    default:
      return { type: 'release', lock, acquireIndex: session(bytes) };
  }
}

/** Sessions and acquires are named by the entries that made them. */
function session(bytes: HostileBytes): number {
  return bytes.chance(0.8) ? 1 + bytes.random.integer(REAL_SESSIONS) : bytes.index();
}
