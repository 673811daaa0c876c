/**
 * Reads what the other end nearly always sends, whole binary WebSocket frames (RFC 6455, section 5.2) that are in one chunk of
 * the socket, without ws and its streams. ws reads all other bytes: a frame in several chunks, and from the first that is no
 * plain binary frame on (fragments, control frames, text, what breaks a rule) everything. Counts what has arrived of a frame that is not
 * whole, and stops one that sends too much before it is admitted.
 */

import type { Socket } from 'node:net';

const FINAL_BINARY = 0x82;
const MASKED = 0x80;
const MASK_BYTES = 4;
const LENGTH_IN_TWO_BYTES = 126;
const LENGTH_IN_EIGHT_BYTES = 127;
/** The first byte, the length in its longest form, and the mask. */
const MAX_HEADER_BYTES = 2 + 8 + MASK_BYTES;

/** What {@link FrameReader} has found at a place where a frame begins. */
const PLAIN = 0;
const UNFINISHED_HEADER = 1;
const NOT_PLAIN = 2;

export interface FrameReaderDeps {
  /** The unmasked payload of a whole frame, a view on its chunk. */
  frame(payload: Uint8Array): void;
  /** For ws: a part of a frame whose other parts come here or have come here, too. */
  pass(bytes: Buffer): void;
  /** For ws, like everything that follows, which is passed. */
  leave(rest: Buffer): void;
  /** More than {@link FrameReader.allowance} has come. Nothing more is read. */
  tooMuch(): void;
}

export interface FrameReaderOptions {
  /** Whether frames have to be masked (those of a client) or must not be (those of a server). */
  readonly masked: boolean;
  readonly maxFrameBytes: number;
}

export class FrameReader {
  readonly #deps: FrameReaderDeps;
  readonly #masked: boolean;
  readonly #maxFrameBytes: number;
  /** Bytes that may still come. */
  allowance = Infinity;
  /** How much of the frame under way is still to be passed to ws. */
  #toPass = 0;
  /** How much of it has been passed. Where ws reads everything: how much since the last whole message, but for a chunk's end. */
  #unfinished = 0;
  /** Counts the frames that begin in one chunk and end in another. */
  #frame = 0;
  /** ws reads everything. */
  #left = false;
  /** A copy of the header's beginning, which has been passed, when a chunk has ended within it. */
  #header: Buffer | undefined;
  /** Of the frame that was looked at last. */
  #headerBytes = 0;
  #payloadBytes = 0;

  constructor(deps: FrameReaderDeps, { masked, maxFrameBytes }: FrameReaderOptions) {
    this.#deps = deps;
    this.#masked = masked;
    this.#maxFrameBytes = maxFrameBytes;
  }

  get unfinishedBytes(): number {
    return this.#unfinished;
  }

  /** To tell unfinished frames apart. */
  get frame(): number {
    return this.#frame;
  }

  /** ws has read a message to its end. */
  messageEnded(): void {
    this.#unfinished = 0;
    this.#frame += 1;
  }

  /** Payloads are unmasked where they are. */
  read(chunk: Buffer): void {
    if (this.#left) return this.#pass(chunk);
    if (this.#header !== undefined && !this.#finishHeader(this.#header, chunk)) return;
    let at = this.#passRest(chunk);
    while (at < chunk.length) {
      const found = this.#look(chunk, at);
      if (found === NOT_PLAIN) return this.#leave(chunk.subarray(at));
      if (found === UNFINISHED_HEADER) {
        this.#header = Buffer.from(chunk.subarray(at));
        return this.#begin(chunk.subarray(at));
      }
      const start = at + this.#headerBytes;
      const end = start + this.#payloadBytes;
      if (end > chunk.length) {
        this.#toPass = end - chunk.length;
        return this.#begin(chunk.subarray(at));
      }
      if (!this.#spend(end - at)) return;
      if (this.#masked) unmask(chunk, start, end);
      this.#deps.frame(new Uint8Array(chunk.buffer, chunk.byteOffset + start, end - start));
      at = end;
    }
  }

  /** False when all of `chunk` has been passed. */
  #finishHeader(begun: Buffer, chunk: Buffer): boolean {
    const header = Buffer.concat([begun, chunk.subarray(0, MAX_HEADER_BYTES)]);
    const found = this.#look(header, 0);
    if (found === PLAIN) {
      this.#header = undefined;
      this.#toPass = this.#headerBytes + this.#payloadBytes - begun.length;
      return true;
    }
    if (found === NOT_PLAIN) this.#leave(chunk);
    else {
      this.#header = header;
      this.#pass(chunk);
    }
    return false;
  }

  /** The beginning of a frame. */
  #begin(bytes: Buffer): void {
    this.#frame += 1;
    this.#unfinished = 0;
    this.#pass(bytes);
  }

  #pass(bytes: Buffer): void {
    if (!this.#spend(bytes.length)) return;
    this.#unfinished += bytes.length;
    this.#deps.pass(bytes);
  }

  #leave(rest: Buffer): void {
    this.#left = true;
    if (!this.#spend(rest.length)) return;
    this.#unfinished += rest.length;
    this.#deps.leave(rest);
  }

  /** False when it is too much. */
  #spend(bytes: number): boolean {
    const before = this.allowance;
    if (before === Infinity) return true;
    this.allowance = before - bytes;
    if (this.allowance >= 0) return true;
    if (before >= 0) this.#deps.tooMuch();
    return false;
  }

  /** Where in `chunk` the next frame begins. */
  #passRest(chunk: Buffer): number {
    if (this.#toPass === 0) return 0;
    const bytes = Math.min(this.#toPass, chunk.length);
    this.#toPass -= bytes;
    this.#pass(chunk.subarray(0, bytes));
    if (this.#toPass === 0) this.#unfinished = 0;
    return bytes;
  }

  #look(bytes: Buffer, at: number): number {
    if (bytes[at] !== FINAL_BINARY) return NOT_PLAIN;
    const second = bytes[at + 1];
    if (second === undefined) return UNFINISHED_HEADER;
    if ((second & MASKED) !== (this.#masked ? MASKED : 0)) return NOT_PLAIN;
    let payloadBytes = second & ~MASKED;
    let headerBytes = 2;
    if (payloadBytes === LENGTH_IN_TWO_BYTES) headerBytes = 4;
    else if (payloadBytes === LENGTH_IN_EIGHT_BYTES) headerBytes = 10;
    if (this.#masked) headerBytes += MASK_BYTES;
    if (at + headerBytes > bytes.length) return UNFINISHED_HEADER;
    if (payloadBytes === LENGTH_IN_TWO_BYTES) payloadBytes = bytes.readUInt16BE(at + 2);
    else if (payloadBytes === LENGTH_IN_EIGHT_BYTES) payloadBytes = Number(bytes.readBigUInt64BE(at + 2));
    if (payloadBytes > this.#maxFrameBytes) return NOT_PLAIN;
    this.#headerBytes = headerBytes;
    this.#payloadBytes = payloadBytes;
    return PLAIN;
  }
}

/** What a reader tells of a connection. */
export interface FramesPastWs {
  /** The unmasked payload of a whole frame. */
  frame: FrameReaderDeps['frame'];
  /** After every chunk: what is there of a frame that is not whole. */
  readonly unfinished: (bytes: number, frame: number) => void;
  readonly tooMuch: () => void;
}

/**
 * Puts a reader before the listener through which ws gets its bytes. Only right after ws has been given the socket, before
 * anything has been read. Undefined for a version of ws that reads in another way, and then reads everything.
 */
export function readFramesPastWs(
  socket: Socket,
  { frame, unfinished, tooMuch }: FramesPastWs,
  options: FrameReaderOptions,
): FrameReader | undefined {
  const [toWs, ...others] = socket.listeners('data') as ((this: Socket, chunk: Buffer) => void)[];
  if (toWs === undefined || others.length > 0) return undefined;
  const pass = (bytes: Buffer): void => toWs.call(socket, bytes);
  const reader = new FrameReader({ frame, tooMuch, pass, leave: pass }, options);
  let owes = false;
  const read = (chunk: Buffer): void => {
    reader.read(chunk);
    const { unfinishedBytes } = reader;
    // Nearly every chunk ends where a frame ends.
    if (unfinishedBytes === 0 && !owes) return;
    owes = unfinishedBytes > 0;
    unfinished(unfinishedBytes, reader.frame);
  };
  socket.off('data', toWs).on('data', read);
  const heardAtOnce = hearAtOnce(socket, read);
  // First, since ws then reads for itself what is left, which tells the other listeners, too.
  socket.prependListener('close', () => {
    heardAtOnce.end();
    socket.off('data', read);
  });
  return reader;
}

/**
 * Hands over what comes from the system before the stream has it, which for each chunk would look for listeners, and read again in a
 * task of its own. Only while the stream would hand it over at once and unchanged: what comes while it is paused, or behind what it
 * keeps, goes its way. Should a Node.js not call `push`, the listener hears everything.
 */
function hearAtOnce(socket: Socket, read: (chunk: Buffer) => void): { end(): void } {
  const push = socket.push.bind(socket);
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (socket.readableFlowing !== true || socket.readableLength > 0 || !(chunk instanceof Buffer))
      return push(chunk, encoding);
    read(chunk);
    return true;
  };
  return { end: () => void (socket.push = push) };
}

/** `start` is behind the mask. */
function unmask(bytes: Buffer, start: number, end: number): void {
  const first = bytes[start - 4] ?? 0;
  const second = bytes[start - 3] ?? 0;
  const third = bytes[start - 2] ?? 0;
  const fourth = bytes[start - 1] ?? 0;
  if ((first | second | third | fourth) === 0) return;
  let at = start;
  for (const whole = end - 3; at < whole; at += 4) {
    bytes[at] = (bytes[at] ?? 0) ^ first;
    bytes[at + 1] = (bytes[at + 1] ?? 0) ^ second;
    bytes[at + 2] = (bytes[at + 2] ?? 0) ^ third;
    bytes[at + 3] = (bytes[at + 3] ?? 0) ^ fourth;
  }
  if (at < end) bytes[at] = (bytes[at] ?? 0) ^ first;
  if (at + 1 < end) bytes[at + 1] = (bytes[at + 1] ?? 0) ^ second;
  if (at + 2 < end) bytes[at + 2] = (bytes[at + 2] ?? 0) ^ third;
}
