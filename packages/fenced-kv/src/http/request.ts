/** Reading HTTP requests: path, token, conditions and bodies into what the store takes, or a refusal that says why not. */

import { MAX_HELD_BODY_BYTES } from '../limits.ts';
import { EngineError } from '../engines/engine-error.ts';
import { parseFloor, parseToken } from '../name.ts';
import type { Precondition } from '../precondition.ts';
import { invalidArgument, limitExceeded } from '../refusal.ts';

const TOKEN_HEADER = 'fencing-token';
const FLOOR_HEADER = 'fencing-floor';

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

/** Bodies up to here are read in one piece. */
const SMALL_BODY_BYTES = 16 * 1024;

/** Bounds the memory that the bodies of all requests under way take together. */
export class BodyReader {
  readonly #maxHeldBytes: number;
  #heldBytes = 0;

  constructor(maxHeldBytes: number = MAX_HELD_BODY_BYTES) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  /** Reads the whole body, at most `limit` bytes, and runs `use` with it. */
  async withBody<T>(request: Request, limit: number, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    const declared = request.headers.get('content-length');
    if (declared !== null && Number(declared) > limit) throw tooLong(limit);
    const hold = new Hold(this);
    try {
      const body =
        declared !== null && Number(declared) <= SMALL_BODY_BYTES
          ? await readSmall(request, Number(declared), hold)
          : await readAsItArrives(request, limit, hold);
      return await use(body);
    } finally {
      hold.release();
    }
  }

  /** @throws EngineError when that is more than is set aside */
  take(bytes: number): void {
    if (this.#heldBytes + bytes > this.#maxHeldBytes) {
      throw new EngineError(
        'OVERLOADED',
        'the bodies of the requests under way take all memory set aside for them; try again later',
      );
    }
    this.#heldBytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}

/** What one request has taken. */
class Hold {
  readonly #reader: BodyReader;
  #bytes = 0;

  constructor(reader: BodyReader) {
    this.#reader = reader;
  }

  take(bytes: number): void {
    this.#reader.take(bytes);
    this.#bytes += bytes;
  }

  release(): void {
    this.#reader.giveBack(this.#bytes);
    this.#bytes = 0;
  }
}

/** The HTTP parser holds the body to the length that was declared. */
async function readSmall(request: Request, declaredBytes: number, hold: Hold): Promise<Uint8Array> {
  hold.take(declaredBytes);
  return new Uint8Array(await request.arrayBuffer());
}

/** Takes memory for what is there: a body that is announced and does not come keeps nobody out. */
async function readAsItArrives(request: Request, limit: number, hold: Hold): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.length;
    if (bytes > limit) throw tooLong(limit);
    hold.take(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLong(limit: number): Error {
  return limitExceeded('body', limit, `the body of this request has at most ${limit} bytes`);
}
