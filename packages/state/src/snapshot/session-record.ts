/** A session in a snapshot, with every answer in its reply cache. What it owns and waits for is with the nodes. */

import {
  MAX_LABEL_LENGTH,
  MAX_REMEMBERED_REPLIES,
  MAX_SESSION_TIMEOUT_MS,
  MAX_UTF8_BYTES_PER_UNIT,
  MIN_SESSION_TIMEOUT_MS,
  pack,
  readText,
  replies,
  SECRET_HASH_BYTES,
  unpackTuple,
  writeText,
  type EndReason,
  type Reply,
} from '@holdfast/protocol';

import { lockProblem } from '../locks/lock-name.ts';
import { PastAcquire } from '../locks/past-acquire.ts';
import { isReply, type CachedReply, type CachedAcquire } from '../sessions/answer-cost.ts';
import { hashKey } from '../sessions/session-table.ts';
import type { Ending, Session } from '../sessions/session.ts';
import type { ByteQueue } from './byte-queue.ts';
import { readIndex, RECORD_HEAD_BYTES, RecordType, SESSION_BYTES, writeHead } from './format.ts';
import { wellFormed } from '../snapshot-error.ts';

/** Of sessions that are ending: the number is the place, from 1. */
const REASONS: readonly EndReason[] = ['closed', 'revoked', 'expired'];

/** In front of each answer: what it is, and either the length of what follows or the index of the acquire. */
const AnswerType = { reply: 0, acquire: 1, pastAcquire: 2 } as const;
const REPLY_HEAD_BYTES = 5;
const ACQUIRE_BYTES = 9;

/** The index and token of an acquire that is gone, before its lock's name. */
const PAST_ACQUIRE_BYTES = 16;

/** An answer as it is kept: a reply, an acquire that is gone, or the index of one that still waits or holds. */
export type KeptAnswer = Reply | PastAcquire | number;

/** The same in bytes. */
type PackedAnswer = { readonly type: number; readonly bytes: Uint8Array } | number;

export interface SessionImage {
  readonly id: number;
  readonly secretHash: string;
  readonly timeoutMs: number;
  readonly generation: number;
  readonly server: number;
  readonly ending: Ending | undefined;
  readonly createdAt: number;
  readonly label: string;
  readonly lastApplied: number;
  readonly answers: readonly KeptAnswer[];
}

export function writeSession(into: ByteQueue, session: Session): void {
  const { cache, label, secretHash } = session;
  const answers = cache.answers().map(packed);
  const room = answers.reduce<number>(
    (sum, answer) => sum + answerBytes(answer),
    label.length * MAX_UTF8_BYTES_PER_UNIT,
  );
  const start = into.reserve(RECORD_HEAD_BYTES + SESSION_BYTES + room);
  const { bytes, view } = into;
  const at = start + RECORD_HEAD_BYTES;
  view.setFloat64(at, session.id, true);
  for (let byte = 0; byte < SECRET_HASH_BYTES; byte += 1) bytes[at + 8 + byte] = secretHash.charCodeAt(byte);
  view.setUint32(at + 40, session.timeoutMs, true);
  view.setUint32(at + 44, session.generation, true);
  view.setFloat64(at + 48, session.createdAt, true);
  view.setFloat64(at + 56, cache.lastApplied, true);
  view.setUint32(at + 64, session.server, true);
  view.setUint32(at + 68, answers.length, true);
  view.setUint16(at + 74, session.ending === undefined ? 0 : REASONS.indexOf(session.ending.reason) + 1, true);
  view.setFloat64(at + 76, session.ending?.number ?? 0, true);
  let end = writeText(label, bytes, at + SESSION_BYTES);
  view.setUint16(at + 72, end - at - SESSION_BYTES, true);
  for (const answer of answers) end = writeAnswer(bytes, view, end, answer);
  writeHead(view, start, RecordType.session, end);
  into.commit(end);
}

/** @throws SnapshotError; MalformedError for what is no text or answer */
export function readSession(bytes: Uint8Array, view: DataView, at: number, end: number): SessionImage {
  wellFormed(end - at >= SESSION_BYTES, () => 'ends within a session');
  const id = readIndex(view, at, 'session');
  const timeoutMs = view.getUint32(at + 40, true);
  const generation = view.getUint32(at + 44, true);
  const lastApplied = readIndex(view, at + 56, 'request number');
  const count = view.getUint32(at + 68, true);
  const labelEnd = at + SESSION_BYTES + view.getUint16(at + 72, true);
  wellFormed(labelEnd <= end, () => 'ends within the label of a session');
  const label = readText(bytes, at + SESSION_BYTES, labelEnd);
  const inTime = timeoutMs >= MIN_SESSION_TIMEOUT_MS && timeoutMs <= MAX_SESSION_TIMEOUT_MS;
  wellFormed(
    id > 0 && generation > 0 && inTime && label.length <= MAX_LABEL_LENGTH,
    () => `has a session ${id} that cannot be`,
  );
  wellFormed(
    count <= lastApplied && count <= MAX_REMEMBERED_REPLIES,
    () => `has a session ${id} that has ${count} answers`,
  );
  return {
    id,
    secretHash: hashKey(bytes.subarray(at + 8, at + 8 + SECRET_HASH_BYTES)),
    timeoutMs,
    generation,
    server: view.getUint32(at + 64, true),
    ending: readEnding(view, at + 74),
    createdAt: readIndex(view, at + 48, 'time of a session'),
    label,
    lastApplied,
    answers: readAnswers(bytes, view, labelEnd, end, count),
  };
}

function readEnding(view: DataView, at: number): Ending | undefined {
  const wire = view.getUint16(at, true);
  const number = readIndex(view, at + 2, 'request number');
  const reason = REASONS[wire - 1];
  wellFormed(reason !== undefined || (wire === 0 && number === 0), () => `has a session that ends for reason ${wire}`);
  return reason === undefined ? undefined : { reason, number };
}

function packed(cached: CachedReply): PackedAnswer {
  if (isReply(cached)) return { type: AnswerType.reply, bytes: pack(replies.writeTuple(cached)) };
  return cached.gone ? packedPast(cached) : cached.acquireIndex;
}

/** Not its answer as text: what it counts for must be the same on a server that was restored. */
function packedPast({ acquireIndex, token, lock: { name } }: CachedAcquire): PackedAnswer {
  const bytes = new Uint8Array(PAST_ACQUIRE_BYTES + name.length * MAX_UTF8_BYTES_PER_UNIT);
  const view = new DataView(bytes.buffer);
  view.setFloat64(0, acquireIndex, true);
  view.setFloat64(8, token, true);
  return { type: AnswerType.pastAcquire, bytes: bytes.subarray(0, writeText(name, bytes, PAST_ACQUIRE_BYTES)) };
}

function answerBytes(answer: PackedAnswer): number {
  return typeof answer === 'number' ? ACQUIRE_BYTES : REPLY_HEAD_BYTES + answer.bytes.length;
}

function writeAnswer(bytes: Uint8Array, view: DataView, at: number, answer: PackedAnswer): number {
  if (typeof answer === 'number') {
    view.setUint8(at, AnswerType.acquire);
    view.setFloat64(at + 1, answer, true);
  } else {
    view.setUint8(at, answer.type);
    view.setUint32(at + 1, answer.bytes.length, true);
    bytes.set(answer.bytes, at + REPLY_HEAD_BYTES);
  }
  return at + answerBytes(answer);
}

function readAnswers(bytes: Uint8Array, view: DataView, start: number, end: number, count: number): KeptAnswer[] {
  const answers: KeptAnswer[] = [];
  let at = start;
  while (answers.length < count) {
    wellFormed(end - at >= REPLY_HEAD_BYTES, () => 'ends within the answers of a session');
    const type = view.getUint8(at);
    if (type === AnswerType.acquire) {
      wellFormed(end - at >= ACQUIRE_BYTES, () => 'ends within the answers of a session');
      answers.push(readIndex(view, at + 1, 'acquire index'));
      at += ACQUIRE_BYTES;
      continue;
    }
    const past = type === AnswerType.pastAcquire;
    wellFormed(past || type === AnswerType.reply, () => `has an answer of the unknown type ${type}`);
    const from = at + REPLY_HEAD_BYTES;
    at = from + view.getUint32(at + 1, true);
    wellFormed(at <= end, () => 'ends within the answers of a session');
    answers.push(past ? readPast(bytes, view, from, at) : readKeptReply(bytes.subarray(from, at)));
  }
  wellFormed(at === end, () => 'has bytes behind the answers of a session');
  return answers;
}

function readPast(bytes: Uint8Array, view: DataView, at: number, end: number): PastAcquire {
  wellFormed(end - at >= PAST_ACQUIRE_BYTES, () => 'ends within an acquire that is gone');
  const acquireIndex = readIndex(view, at, 'acquire index');
  const token = readIndex(view, at + 8, 'token');
  const name = readText(bytes, at + PAST_ACQUIRE_BYTES, end);
  wellFormed(lockProblem(name) === undefined, () => 'has an acquire of a lock that cannot be');
  return new PastAcquire(name, acquireIndex, token);
}

function readKeptReply(bytes: Uint8Array): Reply {
  const reader = unpackTuple(bytes, 'an answer');
  const reply = replies.readTuple(reader);
  wellFormed(reader.remaining === 0, () => 'has an answer with unknown fields');
  return reply;
}
