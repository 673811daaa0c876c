/**
 * Values that are too large for one record lie in chunks of their own, under a number that is used once. They are written as they arrive,
 * each chunk durable before the next is taken, and belong to nobody until one commit gives them to a key: no more than a chunk of a value is in
 * memory, however slowly it comes or is read. Until then, and from the commit that takes them from their key, they are listed as loose;
 * what is loose goes when its last reader has, or at the next start.
 */

import type { Engine, Reader, Transaction } from '../engines/engine.ts';
import { EngineError } from '../engines/engine-error.ts';
import { chunkKey, damaged, LARGE_VALUE_NUMBERS_KEY, looseKey, looseNumberOf, looseRange } from '../keyspace.ts';
import { MAX_UPLOADS, MAX_VALUE_BYTES, VALUE_CHUNK_BYTES } from '../limits.ts';
import { limitExceeded } from '../refusal.ts';

/** A value in chunks, as a key's record names it. */
export interface LargeValue {
  readonly number: number;
  readonly bytes: number;
}

/** Numbers are set aside so many at a time, so that they cost no write each. */
const NUMBERS_AT_A_TIME = 1_024;
/** Loose values that are looked for at once. */
const LOOSE_AT_A_TIME = 64;

export class LargeValues {
  readonly #engine: Engine;
  /** How many read a value now, by its number. */
  readonly #readers = new Map<number, number>();
  readonly #loose = new Map<number, LargeValue>();
  #nextNumber = 0;
  #numbersEnd = 0;
  #uploads = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Values that are being received. */
  get uploads(): number {
    return this.#uploads;
  }

  /** Removes what a process before has left loose. */
  async sweep(): Promise<void> {
    for (;;) {
      const found = this.#engine.read((reader) => reader.range({ ...looseRange(), limit: LOOSE_AT_A_TIME }));
      if (found.length === 0) return;
      for (const { key, value } of found) {
        const bytes = new DataView(value.buffer, value.byteOffset, value.byteLength).getUint32(0);
        await this.#remove({ number: looseNumberOf(key), bytes });
      }
    }
  }

  /** Begins a value that comes in pieces. @throws EngineError OVERLOADED where too many do already */
  upload(): ValueUpload {
    if (this.#uploads >= MAX_UPLOADS) {
      throw new EngineError('OVERLOADED', `${MAX_UPLOADS} large values are on their way already; try again later`);
    }
    this.#uploads += 1;
    let ended = false;
    return new ValueUpload({
      engine: this.#engine,
      takeNumber: (transaction) => this.#takeNumber(transaction),
      end: async (unused) => {
        if (ended) return;
        ended = true;
        this.#uploads -= 1;
        if (unused !== undefined) await this.#remove(unused);
      },
    });
  }

  /** Within the commit that takes a value from its key. */
  loosen(transaction: Transaction, { number, bytes }: LargeValue): void {
    transaction.put(looseKey(number), encodeLength(bytes));
  }

  /** After that commit. */
  async loosened(values: readonly LargeValue[]): Promise<void> {
    for (const value of values) {
      if (this.#readers.has(value.number)) this.#loose.set(value.number, value);
      else await this.#remove(value);
    }
  }

  /** Within the read in which its key was looked up: it stays until it is closed. */
  open(value: LargeValue): ValueChunks {
    const { number } = value;
    this.#readers.set(number, (this.#readers.get(number) ?? 0) + 1);
    let open = true;
    return {
      bytes: value.bytes,
      chunk: (index) => this.#engine.read((reader) => readChunk(reader, value, index)),
      close: () => {
        if (!open) return;
        open = false;
        this.#closed(number);
      },
    };
  }

  #closed(number: number): void {
    const readers = (this.#readers.get(number) ?? 1) - 1;
    if (readers > 0) {
      this.#readers.set(number, readers);
      return;
    }
    this.#readers.delete(number);
    const loose = this.#loose.get(number);
    this.#loose.delete(number);
    // What cannot be removed now is at the next start.
    if (loose !== undefined) this.#remove(loose).catch(() => {});
  }

  async #remove({ number, bytes }: LargeValue): Promise<void> {
    await this.#engine.commit((transaction) => {
      for (let index = 0; index < chunksOf(bytes); index += 1) transaction.delete(chunkKey(number, index));
      transaction.delete(looseKey(number));
    });
  }

  #takeNumber(transaction: Transaction): number {
    if (this.#nextNumber === this.#numbersEnd) {
      const stored = transaction.get(LARGE_VALUE_NUMBERS_KEY);
      this.#nextNumber = stored === undefined ? 1 : decodeNumber(stored);
      this.#numbersEnd = this.#nextNumber + NUMBERS_AT_A_TIME;
      transaction.put(LARGE_VALUE_NUMBERS_KEY, encodeNumber(this.#numbersEnd));
    }
    this.#nextNumber += 1;
    return this.#nextNumber - 1;
  }
}

/** A value that is read piece by piece. */
export interface ValueChunks {
  readonly bytes: number;
  /** From 0; undefined behind the last one. @throws EngineError */
  chunk(index: number): Uint8Array | undefined;
  /** Must be called, once it is read no more. */
  close(): void;
}

interface UploadDeps {
  readonly engine: Engine;
  takeNumber(transaction: Transaction): number;
  end(unused: LargeValue | undefined): Promise<void>;
}

export class ValueUpload {
  readonly #deps: UploadDeps;
  #number: number | undefined;
  #bytes = 0;

  constructor(deps: UploadDeps) {
    this.#deps = deps;
  }

  /** One chunk: full, unless it is the last one. Resolves when it is durable. */
  async append(chunk: Uint8Array): Promise<void> {
    const bytes = this.#bytes + chunk.length;
    if (bytes > MAX_VALUE_BYTES) {
      throw limitExceeded('value', MAX_VALUE_BYTES, `a value has at most ${MAX_VALUE_BYTES} bytes`);
    }
    await this.#deps.engine.commit((transaction) => {
      this.#number ??= this.#deps.takeNumber(transaction);
      transaction.put(looseKey(this.#number), encodeLength(bytes));
      transaction.put(chunkKey(this.#number, Math.floor(this.#bytes / VALUE_CHUNK_BYTES)), chunk);
    });
    this.#bytes = bytes;
  }

  /** What a key can be given, when the last chunk is durable. */
  get value(): LargeValue {
    if (this.#number === undefined) throw new Error('an upload without a chunk has no value');
    return { number: this.#number, bytes: this.#bytes };
  }

  /** A key has it now. */
  async used(): Promise<void> {
    await this.#deps.end(undefined);
  }

  /** No key will have it. Without effect after {@link used}. */
  async abandon(): Promise<void> {
    await this.#deps.end(this.#number === undefined ? undefined : this.value);
  }
}

/** Within the commit that gives a value to a key. */
export function fasten(transaction: Transaction, { number }: LargeValue): void {
  transaction.delete(looseKey(number));
}

function readChunk(reader: Reader, { number, bytes }: LargeValue, index: number): Uint8Array | undefined {
  if (index >= chunksOf(bytes)) return undefined;
  const chunk = reader.get(chunkKey(number, index));
  const expected = Math.min(VALUE_CHUNK_BYTES, bytes - index * VALUE_CHUNK_BYTES);
  if (chunk?.length === expected) return chunk;
  throw damaged(`chunk ${index} of large value ${number} is not the one that was written`);
}

function chunksOf(bytes: number): number {
  return Math.ceil(bytes / VALUE_CHUNK_BYTES);
}

function encodeLength(bytes: number): Uint8Array {
  const encoded = new Uint8Array(4);
  new DataView(encoded.buffer).setUint32(0, bytes);
  return encoded;
}

function encodeNumber(number: number): Uint8Array {
  const encoded = new Uint8Array(8);
  new DataView(encoded.buffer).setBigUint64(0, BigInt(number));
  return encoded;
}

function decodeNumber(bytes: Uint8Array): number {
  if (bytes.length !== 8) throw damaged('the number of the next large value cannot be read');
  return Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0));
}
