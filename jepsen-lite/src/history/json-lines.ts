/**
 * A history as text: a line that names the format, an event a line, and a last line with their number, so that a file that was cut
 * shows. Whatever is read has been checked field by field; what is wrong is shown with its line.
 */

import { isExpectedKey } from './expected-key.ts';
import type { History, HistoryEvent, HistoryEventBody, Stamp } from './history.ts';
import { HistoryFormatError, parseJsonLine, shown, type Fields } from './json-line.ts';
import { isLockRequest } from './locks/lock-request.ts';
import { isTransactionStep } from './transaction-step.ts';

export const FORMAT = 'holdfast-history';
const VERSION = 1;
const NEWLINE = 0x0a;

/** Lines that are handed on together. */
const CHUNK = 10_000;

export function encodeHistory(history: History): string {
  return [...historyChunks(history)].join('');
}

/** The text piece by piece: that of an hour is longer than any string can be. */
export function* historyChunks(history: History): Generator<string> {
  yield lineOf({ format: FORMAT, version: VERSION });
  for (let start = 0; start < history.length; start += CHUNK) {
    yield history
      .slice(start, start + CHUNK)
      .map(lineOf)
      .join('');
  }
  yield lineOf({ events: history.length });
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

/** `text` as bytes where it may be too long for a string. @throws HistoryFormatError */
export function decodeHistory(text: string | Buffer): HistoryEvent[] {
  const lines = typeof text === 'string' ? text.split('\n') : linesIn(text);
  const cut = lines.pop() !== '';
  if (lines.length === 0 || cut) {
    throw new HistoryFormatError(lines.length + 1, 'the file ends within a line; it was cut: record the run again');
  }
  checkHeader(parseJsonLine(lines[0] ?? '', 1));
  const events: HistoryEvent[] = [];
  for (let line = 2; line < lines.length; line += 1) {
    const event = checkEvent(parseJsonLine(lines[line - 1] ?? '', line), line);
    const before = events.at(-1)?.seq ?? 0;
    if (event.seq <= before) {
      throw new HistoryFormatError(line, `"seq" is ${event.seq} after ${before}; lines were moved or repeated`);
    }
    events.push(event);
  }
  checkEnd(lines.length === 1 ? {} : parseJsonLine(lines.at(-1) ?? '', lines.length), events.length, lines.length);
  return events;
}

function linesIn(bytes: Buffer): string[] {
  const lines: string[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.toString('utf8', start, end));
    start = end + 1;
  }
  lines.push(bytes.toString('utf8', start));
  return lines;
}

function checkHeader(header: Fields): void {
  if (header['format'] !== FORMAT) {
    throw new HistoryFormatError(
      1,
      `not a history: the first line must be {"format":"${FORMAT}","version":${VERSION}}`,
    );
  }
  if (header['version'] !== VERSION) {
    throw new HistoryFormatError(
      1,
      `the history has version ${shown(header['version'])}, this program reads ${VERSION}; use the one that recorded it`,
    );
  }
}

function checkEnd(end: Fields, events: number, line: number): void {
  if (!('events' in end)) {
    throw new HistoryFormatError(line, 'the last line, which gives the number of events, is missing; the file was cut');
  }
  if (end['events'] !== events) {
    throw new HistoryFormatError(
      line,
      `the file has ${events} events, and had ${shown(end['events'])}; lines are missing`,
    );
  }
}

/** How a field must look. */
interface Field<Optional extends boolean = boolean> {
  readonly expected: string;
  readonly optional: Optional;
  readonly accepts: (value: unknown) => boolean;
}

const whole = required(
  'a whole number from 0 to 2^53 - 1',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
/** A node's version; -1 stands for any. */
const version = required('a whole number from -1', (value) => Number.isSafeInteger(value) && Number(value) >= -1);
const time = required('a number from 0', (value) => Number.isFinite(value) && Number(value) >= 0);
const text = required('a text', (value) => typeof value === 'string');
const textOrNull = required('a text or null', (value) => value === null || typeof value === 'string');
const wholeOrNull = required(
  'a whole number or null',
  (value) => value === null || (Number.isSafeInteger(value) && Number(value) >= 0),
);
const texts = required(
  'a list of texts',
  (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
);
const textsOrNull = required(
  'a list of texts or null',
  (value) => value === null || (Array.isArray(value) && value.every((each) => typeof each === 'string')),
);
const results = required(
  'a list of texts, whole numbers and nulls',
  (value) =>
    Array.isArray(value) &&
    value.every((each) => each === null || typeof each === 'string' || (Number.isSafeInteger(each) && each >= 0)),
);
const steps = required(
  'a list of operations of a transaction',
  (value) => Array.isArray(value) && value.every(isTransactionStep),
);
const expectedKey = required('a revision and a value', isExpectedKey);
const yes = required('true', (value) => value === true);
const lockRequest = required('what can be asked of a lock', isLockRequest);
const endReason = oneOf('expired', 'revoked', 'closed');

function required(expected: string, accepts: (value: unknown) => boolean): Field<false> {
  return { expected, optional: false, accepts };
}

function optional(field: Field<false>): Field<true> {
  return { ...field, optional: true };
}

function oneOf(...values: readonly string[]): Field<false> {
  const expected = `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  return required(expected, (value) => values.some((known) => known === value));
}

type FormName<E> = E extends { readonly type: infer T extends string; readonly f: infer F extends string }
  ? `${T} ${F}`
  : E extends { readonly type: infer T extends string }
    ? T
    : never;

type FormOf<E> = {
  readonly [K in Exclude<keyof E, keyof Stamp | 'type' | 'f'>]-?: Field<
    Record<never, never> extends Pick<E, K> ? true : false
  >;
};

/** One form for each kind of event; the compiler sees to it that none and no field is missing. */
type Forms = { readonly [E in HistoryEventBody as FormName<E>]: FormOf<E> };

const STAMP = { seq: whole, timeMs: time, process: text } satisfies FormOf<Record<never, never>> &
  Readonly<Record<keyof Stamp, Field>>;

const asked = optional(lockRequest);
const acquire = {
  call: whole,
  lock: text,
  session: whole,
  waitMs: optional(time),
  asked,
  others: optional(texts),
  delayMs: optional(whole),
};
const enter = { call: whole, lock: text, session: whole, owner: text, limit: whole, waitMs: optional(time) };
const release = { call: whole, lock: text, session: whole, token: whole, hold: whole };
const leave = { ...release, owner: text };
const fence = { call: whole, bucket: text, token: whole };
const put = { call: whole, bucket: text, key: text, value: text, token: whole };
const get = { call: whole, bucket: text, key: text, token: optional(whole), hold: optional(whole) };
const kvGet = { call: whole, bucket: text, key: text, token: optional(whole) };
const kvDelete = { ...kvGet, expected: optional(expectedKey) };
const kvPut = { ...kvDelete, value: text };
const createSequential = { call: whole, path: text, value: text, session: optional(whole) };
const create = { ...createSequential, ttlMs: optional(whole), container: optional(yes) };
const set = { ...createSequential, version: optional(version) };
const transaction = { call: whole, operations: steps, session: optional(whole) };
const remove = { call: whole, path: text, version: optional(version), session: optional(whole) };
const read = {
  call: whole,
  path: text,
  consistency: oneOf('linearizable', 'session', 'local'),
  session: optional(whole),
};
const list = { call: whole, path: text, session: optional(whole) };
const status = { call: whole, lock: text, session: optional(whole) };
const failed = { code: text, place: optional(whole), highest: optional(whole) };
const hold = { lock: text, session: whole, token: whole, hold: whole };

const FORMS: Forms = {
  'invoke acquire': acquire,
  'invoke release': release,
  'invoke downgrade': release,
  'invoke enter': enter,
  'invoke leave': leave,
  'invoke fence': fence,
  'invoke put': put,
  'invoke get': get,
  'invoke kv-fence': fence,
  'invoke kv-get': kvGet,
  'invoke kv-put': kvPut,
  'invoke kv-delete': kvDelete,
  'invoke create': create,
  'invoke set': set,
  'invoke delete': remove,
  'invoke read': read,
  'invoke create-sequential': createSequential,
  'invoke transaction': transaction,
  'invoke list': list,
  'invoke status': status,
  'ok acquire': { ...acquire, token: whole, hold: whole },
  'ok release': release,
  'ok downgrade': release,
  'ok enter': { ...enter, token: whole, hold: whole },
  'ok leave': leave,
  'ok fence': fence,
  'ok put': put,
  'ok get': { ...get, value: textOrNull },
  'ok kv-fence': { ...fence, epoch: whole },
  'ok kv-get': { ...kvGet, value: textOrNull, revision: wholeOrNull, epoch: whole },
  'ok kv-put': { ...kvPut, revision: whole, epoch: whole },
  'ok kv-delete': { ...kvDelete, epoch: whole },
  'ok create': create,
  'ok set': { ...set, newVersion: optional(whole) },
  'ok delete': remove,
  'ok read': { ...read, value: textOrNull, version: optional(whole) },
  'ok create-sequential': { ...createSequential, created: text },
  'ok transaction': { ...transaction, index: whole, results },
  'ok list': { ...list, names: textsOrNull },
  'ok status': { ...status, holder: wholeOrNull, token: whole },
  'fail acquire': { ...acquire, ...failed },
  'fail release': { ...release, ...failed },
  'fail downgrade': { ...release, ...failed },
  'fail enter': { ...enter, ...failed },
  'fail leave': { ...leave, ...failed },
  'fail fence': { ...fence, ...failed },
  'fail put': { ...put, ...failed },
  'fail get': { ...get, ...failed },
  'fail kv-fence': { ...fence, ...failed },
  'fail kv-get': { ...kvGet, ...failed },
  'fail kv-put': { ...kvPut, ...failed },
  'fail kv-delete': { ...kvDelete, ...failed },
  'fail create': { ...create, ...failed },
  'fail set': { ...set, ...failed },
  'fail delete': { ...remove, ...failed },
  'fail read': { ...read, ...failed },
  'fail create-sequential': { ...createSequential, ...failed },
  'fail transaction': { ...transaction, ...failed },
  'fail list': { ...list, ...failed },
  'fail status': { ...status, ...failed },
  'info acquire': { ...acquire, ...failed },
  'info release': { ...release, ...failed },
  'info downgrade': { ...release, ...failed },
  'info enter': { ...enter, ...failed },
  'info leave': { ...leave, ...failed },
  'info fence': { ...fence, ...failed },
  'info put': { ...put, ...failed },
  'info get': { ...get, ...failed },
  'info kv-fence': { ...fence, ...failed },
  'info kv-get': { ...kvGet, ...failed },
  'info kv-put': { ...kvPut, ...failed },
  'info kv-delete': { ...kvDelete, ...failed },
  'info create': { ...create, ...failed },
  'info set': { ...set, ...failed },
  'info delete': { ...remove, ...failed },
  'info read': { ...read, ...failed },
  'info create-sequential': { ...createSequential, ...failed },
  'info transaction': { ...transaction, ...failed },
  'info list': { ...list, ...failed },
  'info status': { ...status, ...failed },
  session: { event: oneOf('connected', 'reconnected', 'expired', 'closed'), session: whole, timeoutMs: optional(time) },
  renewed: { session: whole, sentMs: time },
  believe: hold,
  lost: { ...hold, reason: endReason },
  watched: {
    watch: whole,
    event: oneOf('started', 'created', 'changed', 'deleted', 'resync', 'left'),
    path: text,
    index: whole,
    from: optional(whole),
  },
  shown: { by: oneOf('write', 'read'), path: text, index: whole },
  cancelled: { call: whole },
  fault: { fault: text, phase: oneOf('begin', 'end'), hosts: optional(text) },
  kept: { bucket: text, key: text, value: text, revision: whole },
  'kept-all': { keys: whole, digest: text },
  phase: { phase: oneOf('faults', 'healed', 'quiet') },
  enqueued: { index: whole, lock: text, session: whole, hold: whole, asked },
  granted: { index: whole, ...hold, asked },
  downgraded: { index: whole, lock: text, session: whole, hold: whole },
  removed: {
    index: whole,
    lock: text,
    session: whole,
    hold: whole,
    reason: oneOf('released', 'cancelled', 'expired', 'revoked', 'closed', 'deadlock'),
  },
  'ended-session': { index: whole, session: whole, reason: endReason },
  configured: { index: whole, group: text, version: whole, epoch: whole, primary: text, inSync: texts },
  leadership: { phase: oneOf('begin', 'end'), term: whole },
  'accepted fence': { bucket: text, token: whole },
  'accepted put': { bucket: text, token: whole },
};

function checkEvent(fields: Fields, line: number): HistoryEvent {
  const { type, f } = fields;
  if (typeof type !== 'string') throw new HistoryFormatError(line, `"type" is ${shown(type)}, not a text`);
  if (f !== undefined && typeof f !== 'string') throw new HistoryFormatError(line, `"f" is ${shown(f)}, not a text`);
  const name = f === undefined ? type : `${type} ${f}`;
  const form: Readonly<Record<string, Field>> | undefined = Object.hasOwn(FORMS, name)
    ? FORMS[name as keyof Forms]
    : undefined;
  if (form === undefined) throw new HistoryFormatError(line, `no kind of event is called "${name}"`);
  const known: Readonly<Record<string, Field>> = { ...STAMP, ...form };
  for (const [key, field] of Object.entries(known)) {
    const value = fields[key];
    if (value === undefined && field.optional) continue;
    if (value === undefined) throw new HistoryFormatError(line, `"${name}" lacks "${key}"`);
    if (!field.accepts(value)) {
      throw new HistoryFormatError(line, `"${key}" of "${name}" is ${shown(value)}, not ${field.expected}`);
    }
  }
  for (const key of Object.keys(fields)) {
    if (key !== 'type' && key !== 'f' && !Object.hasOwn(known, key)) {
      throw new HistoryFormatError(line, `"${name}" has no field "${key}"`);
    }
  }
  return fields as unknown as HistoryEvent;
}
