/** The JSON bodies of requests. Unknown fields are refused: a misspelt condition must not be a write without one. */

import type { BucketKind } from '../fenced-store.ts';
import type { KeyWrite } from '../keys/key-write.ts';
import { assertToken, parseFloor, parseToken } from '../name.ts';
import type { Precondition } from '../keys/precondition.ts';
import { invalidArgument } from '../refusal.ts';

type Fields = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** `{ "token": 57, "floor"?: 41 }`, or their printed forms as text. */
export function parseFenceBody(body: Uint8Array): { readonly token: number; readonly floor: number | undefined } {
  const { token, floor } = parseObject(body, ['token', 'floor']);
  const read = typeof token === 'string' ? parseToken(token) : token;
  if (typeof read !== 'number') throw invalidArgument('token', 'the body is { "token": <positive integer> }');
  assertToken(read);
  const lowest = typeof floor === 'string' ? parseFloor(floor) : floor;
  if (lowest === undefined || typeof lowest === 'number') return { token: read, floor: lowest };
  throw invalidArgument('floor', 'the body is { "token": <positive integer>, "floor": <integer from 0 to the token> }');
}

/** `{ "tokens"?: "required" | "optional", "lock"?: NAME }`, with one of them at least. */
export function parseBucketBody(body: Uint8Array): BucketKind {
  const { tokens, lock } = parseObject(body, ['tokens', 'lock']);
  const shape = 'the body is { "tokens": "required" | "optional", "lock": "<name>" }, with one of them at least';
  if (tokens === undefined && lock === undefined) throw invalidArgument('tokens', shape);
  if (tokens !== undefined && tokens !== 'required' && tokens !== 'optional') throw invalidArgument('tokens', shape);
  if (lock !== undefined && typeof lock !== 'string') throw invalidArgument('lock', shape);
  return { tokens, lock };
}

/** `{ "lock": NAME }` */
export function parseBindBody(body: Uint8Array): { readonly lock: string } {
  const { lock } = parseObject(body, ['lock']);
  if (typeof lock === 'string') return { lock };
  throw invalidArgument('lock', 'the body is { "lock": "<name>" }');
}

/** `{ "to": T, "from"?: T }`, where each is a token or 0, or its printed form as text. */
export function parseResetBody(body: Uint8Array): { readonly to: number; readonly from: number | undefined } {
  const { to, from } = parseObject(body, ['to', 'from']);
  const shape = 'the body is { "to": <token or 0>, "from": <the present highest token> }';
  if (to === undefined) throw invalidArgument('to', shape);
  return {
    to: parseHighest('to', to, shape),
    from: from === undefined ? undefined : parseHighest('from', from, shape),
  };
}

function parseHighest(argument: string, value: unknown, shape: string): number {
  const number = typeof value === 'string' && /^[0-9]{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw invalidArgument(argument, shape);
}

/** `{ "writes": [{ "op": "put", "key", "value" | "valueBase64", "ifRevision"? }, { "op": "delete", "key", "ifRevision"? }] }` */
export function parseBatchBody(body: Uint8Array): KeyWrite[] {
  const { writes } = parseObject(body, ['writes']);
  if (!Array.isArray(writes)) throw invalidArgument('writes', 'the body is { "writes": [ … ] }');
  return writes.map((write: unknown, index) => parseWrite(write, `writes[${index}]`));
}

function parseWrite(write: unknown, where: string): KeyWrite {
  const fields = assertFields(write, where, ['op', 'key', 'value', 'valueBase64', 'ifRevision', 'ttlMs']);
  const { op, key } = fields;
  if (typeof key !== 'string') throw invalidArgument(where, `${where}.key is text`);
  const conditions = parseIfRevision(fields['ifRevision'], where);
  switch (op) {
    case 'put':
      return { key, value: parseValue(fields, where), conditions, ttlMs: parseTtl(fields['ttlMs'], where) };
    case 'delete':
      if (fields['value'] !== undefined || fields['valueBase64'] !== undefined) {
        throw invalidArgument(where, `${where} deletes, so it has no value`);
      }
      if (fields['ttlMs'] !== undefined) throw invalidArgument(where, `${where} deletes, so it has no ttlMs`);
      return { key, value: undefined, conditions };
    default:
      throw invalidArgument(where, `${where}.op is "put" or "delete"`);
  }
}

function parseValue({ value, valueBase64 }: Fields, where: string): Uint8Array {
  if (typeof value === 'string' && valueBase64 === undefined) return encoder.encode(value);
  if (typeof valueBase64 === 'string' && value === undefined) {
    if (valueBase64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(valueBase64)) {
      throw invalidArgument(where, `${where}.valueBase64 is not base64 with padding`);
    }
    return Buffer.from(valueBase64, 'base64');
  }
  throw invalidArgument(where, `${where} has either "value" (text) or "valueBase64" (bytes)`);
}

function parseIfRevision(ifRevision: unknown, where: string): Precondition[] {
  if (ifRevision === undefined) return [];
  if (ifRevision === null) return [{ kind: 'absent' }];
  if (typeof ifRevision === 'number' && Number.isSafeInteger(ifRevision) && ifRevision >= 1) {
    return [{ kind: 'revision-in', revisions: [ifRevision] }];
  }
  throw invalidArgument(where, `${where}.ifRevision is a revision, or null where the key must be absent`);
}

function parseTtl(ttlMs: unknown, where: string): number | undefined {
  if (ttlMs === undefined || typeof ttlMs === 'number') return ttlMs;
  throw invalidArgument(where, `${where}.ttlMs is an integer of milliseconds`);
}

function parseObject(body: Uint8Array, known: readonly string[]): Fields {
  let parsed: unknown;
  try {
    parsed = JSON.parse(decoder.decode(body));
  } catch (error) {
    throw invalidArgument(
      'body',
      `the body is not JSON in UTF-8: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return assertFields(parsed, 'the body', known);
}

function assertFields(value: unknown, where: string, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidArgument('body', `${where} is not a JSON object`);
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw invalidArgument('body', `${where} has an unknown field "${unknown}"; known are ${known.join(', ')}`);
  }
  return value as Fields;
}
