/** A session in a snapshot, with every answer that it remembers. What it owns and waits for is with the nodes. */

import {
  MAX_LABEL_LENGTH,
  MAX_REMEMBERED_REPLIES,
  MAX_SESSION_TIMEOUT_MS,
  MAX_UTF8_BYTES_PER_UNIT,
  MIN_SESSION_TIMEOUT_MS,
  pack,
  readReply,
  readText,
  replyToTuple,
  SECRET_BYTES,
  unpackTuple,
  writeText,
  type Reply,
} from '@holdfast/protocol';

import { presentReply } from '../commands/locks.ts';
import { QueuedAcquire } from '../locks/queued-acquire.ts';
import type { Remembered } from '../sessions/reply-memory.ts';
import { secretKey } from '../sessions/session-table.ts';
import type { Session } from '../sessions/session.ts';
import type { ByteQueue } from './byte-queue.ts';
import { readIndex, RECORD_HEAD_BYTES, RecordType, SESSION_BYTES, writeHead } from './format.ts';
import { wellFormed } from './snapshot-error.ts';

/** In front of each answer: what it is, and either the length of the reply or the index of the acquire. */
const AnswerType = { reply: 0, acquire: 1 } as const;
const REPLY_HEAD_BYTES = 5;
const ACQUIRE_BYTES = 9;

/** An answer as it is kept: a reply, or the index of an acquire that still waits or holds. */
export type KeptAnswer = Reply | number;

export interface SessionImage {
  readonly id: number;
  readonly secret: string;
  readonly timeoutMs: number;
  readonly generation: number;
  readonly createdAt: number;
  readonly label: string;
  readonly lastApplied: number;
  readonly answers: readonly KeptAnswer[];
}

export function writeSession(into: ByteQueue, session: Session): void {
  const { memory, label, secret } = session;
  const answers = memory.answers().map(packed);
  const room = answers.reduce<number>(
    (sum, answer) => sum + answerBytes(answer),
    label.length * MAX_UTF8_BYTES_PER_UNIT,
  );
  const start = into.reserve(RECORD_HEAD_BYTES + SESSION_BYTES + room);
  const { bytes, view } = into;
  const at = start + RECORD_HEAD_BYTES;
  view.setFloat64(at, session.id, true);
  for (let byte = 0; byte < SECRET_BYTES; byte += 1) bytes[at + 8 + byte] = secret.charCodeAt(byte);
  view.setUint32(at + 24, session.timeoutMs, true);
  view.setUint32(at + 28, session.generation, true);
  view.setFloat64(at + 32, session.createdAt, true);
  view.setFloat64(at + 40, memory.lastApplied, true);
  view.setUint32(at + 48, answers.length, true);
  let end = writeText(label, bytes, at + SESSION_BYTES);
  view.setUint16(at + 52, end - at - SESSION_BYTES, true);
  for (const answer of answers) end = writeAnswer(bytes, view, end, answer);
  writeHead(view, start, RecordType.session, end);
  into.commit(end);
}

/** @throws SnapshotError; MalformedError for what is no text or answer */
export function readSession(bytes: Uint8Array, view: DataView, at: number, end: number): SessionImage {
  wellFormed(end - at >= SESSION_BYTES, () => 'ends within a session');
  const id = readIndex(view, at, 'session');
  const timeoutMs = view.getUint32(at + 24, true);
  const generation = view.getUint32(at + 28, true);
  const lastApplied = readIndex(view, at + 40, 'request number');
  const count = view.getUint32(at + 48, true);
  const labelEnd = at + SESSION_BYTES + view.getUint16(at + 52, true);
  wellFormed(labelEnd <= end, () => 'ends within the label of a session');
  const label = readText(bytes, at + SESSION_BYTES, labelEnd);
  const inTime = timeoutMs >= MIN_SESSION_TIMEOUT_MS && timeoutMs <= MAX_SESSION_TIMEOUT_MS;
  wellFormed(
    id > 0 && generation > 0 && inTime && label.length <= MAX_LABEL_LENGTH,
    () => `has a session ${id} that cannot be`,
  );
  wellFormed(
    count <= lastApplied && count <= MAX_REMEMBERED_REPLIES,
    () => `has a session ${id} that remembers ${count} answers`,
  );
  return {
    id,
    secret: secretKey(bytes.subarray(at + 8, at + 8 + SECRET_BYTES)),
    timeoutMs,
    generation,
    createdAt: readIndex(view, at + 32, 'time of a session'),
    label,
    lastApplied,
    answers: readAnswers(bytes, view, labelEnd, end, count),
  };
}

/** What is gone stays gone: its present answer is its last. */
function packed(remembered: Remembered): Uint8Array | number {
  if (remembered instanceof QueuedAcquire && !remembered.gone) return remembered.acquireIndex;
  return pack(replyToTuple(presentReply(remembered)));
}

function answerBytes(answer: Uint8Array | number): number {
  return typeof answer === 'number' ? ACQUIRE_BYTES : REPLY_HEAD_BYTES + answer.length;
}

function writeAnswer(bytes: Uint8Array, view: DataView, at: number, answer: Uint8Array | number): number {
  if (typeof answer === 'number') {
    view.setUint8(at, AnswerType.acquire);
    view.setFloat64(at + 1, answer, true);
  } else {
    view.setUint8(at, AnswerType.reply);
    view.setUint32(at + 1, answer.length, true);
    bytes.set(answer, at + REPLY_HEAD_BYTES);
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
    wellFormed(type === AnswerType.reply, () => `has an answer of the unknown type ${type}`);
    const from = at + REPLY_HEAD_BYTES;
    at = from + view.getUint32(at + 1, true);
    wellFormed(at <= end, () => 'ends within the answers of a session');
    answers.push(readKeptReply(bytes.subarray(from, at)));
  }
  wellFormed(at === end, () => 'has bytes behind the answers of a session');
  return answers;
}

function readKeptReply(bytes: Uint8Array): Reply {
  const reader = unpackTuple(bytes, 'an answer');
  const reply = readReply(reader);
  wellFormed(reader.remaining === 0, () => 'has an answer with unknown fields');
  return reply;
}
