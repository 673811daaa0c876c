/**
 * Bodies of requests, within a bound on the memory that all of them take together. JSON and small values are read whole. A larger value goes
 * to the disk chunk by chunk as it arrives, so that a slow client takes the memory of a chunk.
 */

import { EngineError } from '../engines/engine-error.ts';
import type { LargeValue, ValueUpload } from '../keys/large-values.ts';
import {
  MAX_HELD_BODY_BYTES,
  MAX_INLINE_VALUE_BYTES,
  MAX_SMALL_REQUEST_BYTES,
  MAX_VALUE_BYTES,
  RESERVED_BODY_BYTES,
  VALUE_CHUNK_BYTES,
} from '../limits.ts';
import { limitExceeded } from '../refusal.ts';

/** Bodies up to here are read in one piece. */
const SMALL_BODY_BYTES = 16 * 1024;

export interface HeldBytesLimits {
  readonly maxHeldBytes: number;
  /** Of these, for requests that hold at most {@link MAX_SMALL_REQUEST_BYTES}. */
  readonly reservedBytes: number;
}

const LIMITS: HeldBytesLimits = { maxHeldBytes: MAX_HELD_BODY_BYTES, reservedBytes: RESERVED_BODY_BYTES };

export class BodyReader {
  readonly #limits: HeldBytesLimits;
  #heldBytes = 0;

  constructor(limits: HeldBytesLimits = LIMITS) {
    this.#limits = limits;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Reads the whole body, at most `limit` bytes, and runs `use` with it. */
  async withBody<T>(request: Request, limit: number, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    const declared = declaredBytes(request, limit);
    const hold = this.hold();
    try {
      const body =
        declared !== undefined && declared <= SMALL_BODY_BYTES
          ? await readSmall(request, declared, hold)
          : await readAsItArrives(request, limit, hold);
      return await use(body);
    } finally {
      hold.release();
    }
  }

  /** Reads a value, and runs `use` with it. A large one is in an upload that `use` gives to a key, and is removed where that fails. */
  async withValue<T>(
    request: Request,
    beginUpload: () => ValueUpload,
    use: (value: Uint8Array | LargeValue) => Promise<T>,
  ): Promise<T> {
    const declared = declaredBytes(request, MAX_VALUE_BYTES);
    if (declared !== undefined && declared <= MAX_INLINE_VALUE_BYTES) {
      return await this.withBody(request, MAX_INLINE_VALUE_BYTES, use);
    }
    const incoming = new IncomingValue(this.hold(), beginUpload);
    try {
      for await (const piece of request.body ?? []) await incoming.add(piece);
      const result = await use(await incoming.end());
      await incoming.used();
      return result;
    } finally {
      await incoming.close();
    }
  }

  /** Memory that one request takes; must be released. */
  hold(): Hold {
    return new Hold(this);
  }

  /** `ofRequest`: what the request holds with them. @throws EngineError when that is more than is set aside */
  take(bytes: number, ofRequest: number): void {
    const { maxHeldBytes, reservedBytes } = this.#limits;
    const room = ofRequest > MAX_SMALL_REQUEST_BYTES ? maxHeldBytes - reservedBytes : maxHeldBytes;
    if (this.#heldBytes + bytes > room) {
      throw new EngineError(
        'OVERLOADED',
        'the values and bodies of the requests under way take all memory set aside for them; try again later',
      );
    }
    this.#heldBytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}

/** What one request has taken. */
export class Hold {
  readonly #reader: BodyReader;
  #bytes = 0;

  constructor(reader: BodyReader) {
    this.#reader = reader;
  }

  take(bytes: number): void {
    this.#reader.take(bytes, this.#bytes + bytes);
    this.#bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#reader.giveBack(bytes);
    this.#bytes -= bytes;
  }

  release(): void {
    this.giveBack(this.#bytes);
  }
}

/** A value on its way: in memory while it may be small, to the disk from then on. */
class IncomingValue {
  readonly #hold: Hold;
  readonly #beginUpload: () => ValueUpload;
  #upload: ValueUpload | undefined;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(hold: Hold, beginUpload: () => ValueUpload) {
    this.#hold = hold;
    this.#beginUpload = beginUpload;
  }

  async add(piece: Uint8Array): Promise<void> {
    this.#hold.take(piece.length);
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    // A body that is announced and does not come keeps no other upload out.
    if (this.#upload === undefined && this.#bytes > MAX_INLINE_VALUE_BYTES) this.#upload = this.#beginUpload();
    if (this.#upload !== undefined) await this.#flush(this.#upload, VALUE_CHUNK_BYTES);
  }

  async end(): Promise<Uint8Array | LargeValue> {
    if (this.#upload === undefined) return Buffer.concat(this.#pieces);
    await this.#flush(this.#upload, 1);
    return this.#upload.value;
  }

  async used(): Promise<void> {
    await this.#upload?.used();
  }

  async close(): Promise<void> {
    this.#pieces = [];
    this.#hold.release();
    // What cannot be removed now is removed at the next start.
    await this.#upload?.abandon().catch(() => {});
  }

  /** Writes chunks while at least `least` bytes are there. */
  async #flush(upload: ValueUpload, least: number): Promise<void> {
    while (this.#bytes >= least) {
      const all = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
      const chunk = (all ?? new Uint8Array(0)).subarray(0, VALUE_CHUNK_BYTES);
      await upload.append(Uint8Array.from(chunk));
      const rest = all?.subarray(chunk.length) ?? new Uint8Array(0);
      this.#pieces = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
      this.#hold.giveBack(chunk.length);
    }
  }
}

/** @throws RefusedError when it is more than `limit` */
function declaredBytes(request: Request, limit: number): number | undefined {
  const declared = request.headers.get('content-length');
  if (declared === null) return undefined;
  if (Number(declared) > limit) throw tooLong(limit);
  return Number(declared);
}

/** The HTTP parser holds the body to the length that was declared. */
async function readSmall(request: Request, bytes: number, hold: Hold): Promise<Uint8Array> {
  hold.take(bytes);
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
