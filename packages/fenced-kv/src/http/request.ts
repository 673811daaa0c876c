/** Reading the heads of HTTP requests: path, token and conditions into what the store takes, or a refusal that says why not. */

import { parseFloor, parseToken } from '../name.ts';
import type { Precondition } from '../keys/precondition.ts';
import { invalidArgument } from '../refusal.ts';

const TOKEN_HEADER = 'fencing-token';
const FLOOR_HEADER = 'fencing-floor';
/** Under which epoch a replica has answered; in a request, the latest one that the client was answered under. */
export const EPOCH_HEADER = 'group-epoch';

/** 415: the body's type is not what the request takes. */
export class MediaTypeError extends Error {
  constructor(expected: string, found: string | null) {
    const given = found === null ? 'none' : `"${found}"`;
    super(
      `this request takes a body of type ${expected}, and the header Content-Type says ${given}; set it to ${expected}`,
    );
    this.name = 'MediaTypeError';
  }
}

/** The bucket and, where the path goes on, the key of `/v1/buckets/<bucket>/keys/<key>`, percent-decoded. */
export function parsePath(url: string): { readonly bucket: string; readonly key: string } {
  const [, , , bucket = '', , key = '', ...rest] = new URL(url).pathname.split('/');
  if (rest.length > 0) {
    throw invalidArgument('key', 'the key is one path segment: percent-encode it ("/" is %2F)');
  }
  return { bucket: percentDecode('bucket', bucket), key: percentDecode('key', key) };
}

function percentDecode(argument: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidArgument(argument, `the ${argument} in the path is not percent-encoded UTF-8: ${text}`);
  }
}

/** What the request says of its holder; the store checks one against the other. */
export function parseHolder(headers: Headers): {
  readonly token: number | undefined;
  readonly floor: number | undefined;
} {
  const token = headers.get(TOKEN_HEADER);
  const floor = headers.get(FLOOR_HEADER);
  return {
    token: token === null ? undefined : parseToken(token),
    floor: floor === null ? undefined : parseFloor(floor),
  };
}

/** The latest epoch of a group that the client has seen; 0: none. */
export function parseEpoch(headers: Headers): number {
  const text = headers.get(EPOCH_HEADER);
  if (text === null) return 0;
  const epoch = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(epoch)) return epoch;
  throw invalidArgument('Group-Epoch', `an epoch is a whole number of up to 16 digits; got ${JSON.stringify(text)}`);
}

/** `If-Match` and `If-None-Match`. Weak tags never match strongly, as RFC 9110 has it. */
export function parseConditions(headers: Headers): Precondition[] {
  const conditions: Precondition[] = [];
  const match = headers.get('if-match');
  if (match !== null) {
    conditions.push(
      match.trim() === '*'
        ? { kind: 'exists' }
        : { kind: 'revision-in', revisions: parseTags('If-Match', match, false) },
    );
  }
  const noneMatch = headers.get('if-none-match');
  if (noneMatch !== null) {
    conditions.push(
      noneMatch.trim() === '*'
        ? { kind: 'absent' }
        : { kind: 'revision-not-in', revisions: parseTags('If-None-Match', noneMatch, true) },
    );
  }
  return conditions;
}

function parseTags(header: string, text: string, weakCounts: boolean): number[] {
  return text.split(',').flatMap((part) => {
    const tag = /^(?<weak>W\/)?"(?<opaque>[\x21\x23-\x7e]*)"$/.exec(part.trim());
    if (tag === null)
      throw invalidArgument(header, `${header} is "*" or a list of quoted revisions such as "7"; got ${text}`);
    const opaque = tag.groups?.['opaque'] ?? '';
    // A tag that is not of our making matches nothing.
    const ours = /^[0-9]{1,16}$/.test(opaque) && (weakCounts || tag.groups?.['weak'] === undefined);
    return ours ? [Number(opaque)] : [];
  });
}

export function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,9}$/.test(text)) throw invalidArgument('limit', `limit is a positive integer; got "${text}"`);
  return Number(text);
}

/** Where to go on: what the client has seen last wins over where it has begun. */
export function parseFrom(from: string | undefined, lastEventId: string | null): number | undefined {
  const text = lastEventId ?? from;
  if (text === undefined) return undefined;
  const revision = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(revision)) return revision;
  throw invalidArgument('from', `a revision to follow from is a whole number; got ${JSON.stringify(text)}`);
}

export function parseTtl(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,12}$/.test(text)) return Number(text);
  throw invalidArgument('ttlMs', `ttlMs is an integer of milliseconds; got "${text}"`);
}

export function assertMediaType(headers: Headers, expected: string): void {
  const found = headers.get('content-type');
  const type = found?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== expected) throw new MediaTypeError(expected, found);
}

export function assertNoBody(headers: Headers): void {
  if (Number(headers.get('content-length') ?? 0) > 0 || headers.has('transfer-encoding')) {
    throw invalidArgument('body', 'this request takes no body');
  }
}
