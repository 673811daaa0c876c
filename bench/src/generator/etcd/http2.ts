/**
 * gRPC over HTTP/2 on a bare socket, as one client of one server. Request headers are sent with HPACK's incremental indexing, so
 * that from the second call on they are a few bytes, as any gRPC client's are. Response headers are not decoded: a call that
 * ends without a message has failed.
 */

import { WireSocket } from '../wire-socket.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const FrameType = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const FRAME_HEAD_BYTES = 9;
const GRPC_HEAD_BYTES = 5;
/** What every server takes. */
const MAX_FRAME_BYTES = 16_384;
const SETTING_INITIAL_WINDOW = 4;
/** Together practically no flow control towards this side. */
const MAX_WINDOW = 0x7fffffff;
const DEFAULT_WINDOW = 65_535;
const RENEW_WINDOW_BYTES = 1 << 30;

// HPACK's static table, RFC 7541 appendix A.
const METHOD_POST = 0x83;
const SCHEME_HTTP = 0x86;
const NAME_AUTHORITY = 1;
const NAME_PATH = 4;
const STATIC_ENTRIES = 61;

export interface CallHandler {
  readonly message: (bytes: Buffer) => void;
  /** The server ended the call. `messages`: how many it had sent. */
  readonly ended?: (messages: number) => void;
}

interface Call extends CallHandler {
  messages: number;
  /** Of a gRPC message of which not everything has come. */
  rest: Buffer | undefined;
}

export class GrpcConnection {
  readonly #socket: WireSocket;
  readonly #onFailure: (error: Error) => void;
  readonly #calls = new Map<number, Call>();
  readonly #address: string;
  /** Header → how many were put into the dynamic table before it. */
  readonly #indexed = new Map<string, number>();
  #nextStream = 1;
  #received = 0;
  #sendWindow = DEFAULT_WINDOW;
  #waiting: Buffer[] = [];

  constructor(address: string, connected: () => void, onFailure: (error: Error) => void) {
    this.#address = address;
    this.#onFailure = onFailure;
    this.#socket = new WireSocket(address, {
      connected: () => {
        this.#socket.send(greeting());
        connected();
      },
      data: (bytes) => this.#data(bytes),
      closed: onFailure,
    });
  }

  turn(work: () => void): void {
    this.#socket.turn(work);
  }

  /** A call with one request and one response. */
  unary(path: string, request: Buffer, reply: (bytes: Buffer) => void): void {
    const ended = (messages: number): void => {
      if (messages === 0) this.#onFailure(new Error(`etcd refused ${path}`));
    };
    this.#socket.turn(() => this.#send(this.#open(path, { message: reply, ended }), request, END_STREAM));
  }

  /** A call that stays open; returns how to send on it. */
  stream(path: string, handler: CallHandler): (message: Buffer) => void {
    const stream = this.#open(path, handler);
    return (message) => this.#send(stream, message, 0);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #open(path: string, handler: CallHandler): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#calls.set(stream, { ...handler, messages: 0, rest: undefined });
    this.#socket.send(frameOf(FrameType.headers, END_HEADERS, stream, this.#headerBlock(path)));
    return stream;
  }

  #headerBlock(path: string): Buffer {
    const block: number[] = [METHOD_POST, SCHEME_HTTP];
    this.#header(block, NAME_PATH, ':path', path);
    this.#header(block, NAME_AUTHORITY, ':authority', this.#address);
    this.#header(block, 0, 'content-type', 'application/grpc');
    this.#header(block, 0, 'te', 'trailers');
    return Buffer.from(block);
  }

  #header(block: number[], nameIndex: number, name: string, value: string): void {
    const key = `${name} ${value}`;
    const before = this.#indexed.get(key);
    if (before !== undefined) {
      block.push(0x80 | (STATIC_ENTRIES + this.#indexed.size - before));
      return;
    }
    this.#indexed.set(key, this.#indexed.size);
    block.push(0x40 | nameIndex);
    for (const text of nameIndex === 0 ? [name, value] : [value])
      block.push(text.length, ...Buffer.from(text, 'latin1'));
  }

  #send(stream: number, message: Buffer, flags: number): void {
    const head = Buffer.alloc(GRPC_HEAD_BYTES);
    head.writeUInt32BE(message.length, 1);
    const bytes = Buffer.concat([head, message]);
    for (let at = 0; at < bytes.length; at += MAX_FRAME_BYTES) {
      const part = bytes.subarray(at, at + MAX_FRAME_BYTES);
      this.#waiting.push(frameOf(FrameType.data, at + part.length === bytes.length ? flags : 0, stream, part));
    }
    this.#socket.turn(() => this.#drain());
  }

  #drain(): void {
    for (let frame = this.#waiting[0]; frame !== undefined; frame = this.#waiting[0]) {
      const length = frame.length - FRAME_HEAD_BYTES;
      if (length > this.#sendWindow) return;
      this.#sendWindow -= length;
      this.#waiting.shift();
      this.#socket.send(frame);
    }
  }

  #data(bytes: Buffer): number {
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD_BYTES) {
      const end = at + FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5);
      this.#frame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, stream, bytes.subarray(at + FRAME_HEAD_BYTES, end));
      at = end;
    }
    return at;
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FrameType.data:
        this.#countReceived(payload.length);
        this.#message(stream, payload);
        if ((flags & END_STREAM) !== 0) this.#ended(stream);
        break;
      case FrameType.headers:
        if ((flags & END_STREAM) !== 0) this.#ended(stream);
        break;
      case FrameType.rstStream:
        this.#ended(stream);
        break;
      case FrameType.settings:
        if ((flags & ACK) === 0) this.#socket.send(frameOf(FrameType.settings, ACK, 0, Buffer.alloc(0)));
        break;
      case FrameType.ping:
        if ((flags & ACK) === 0) this.#socket.send(frameOf(FrameType.ping, ACK, 0, Buffer.from(payload)));
        break;
      case FrameType.windowUpdate:
        // Streams are short or carry little: only the connection's window can run out.
        if (stream === 0) this.#sendWindow += payload.readUInt32BE(0);
        this.#drain();
        break;
      case FrameType.goAway:
        this.#onFailure(new Error('etcd closed the HTTP/2 connection'));
        break;
      default:
        break;
    }
  }

  #message(stream: number, payload: Buffer): void {
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    let bytes = call.rest === undefined ? payload : Buffer.concat([call.rest, payload]);
    call.rest = undefined;
    while (bytes.length >= GRPC_HEAD_BYTES) {
      const end = GRPC_HEAD_BYTES + bytes.readUInt32BE(1);
      if (end > bytes.length) break;
      call.messages += 1;
      call.message(bytes.subarray(GRPC_HEAD_BYTES, end));
      bytes = bytes.subarray(end);
    }
    if (bytes.length > 0) call.rest = Buffer.from(bytes);
  }

  #ended(stream: number): void {
    const call = this.#calls.get(stream);
    this.#calls.delete(stream);
    call?.ended?.(call.messages);
  }

  #countReceived(length: number): void {
    this.#received += length;
    if (this.#received < RENEW_WINDOW_BYTES) return;
    const increment = Buffer.alloc(4);
    increment.writeUInt32BE(this.#received);
    this.#received = 0;
    this.#socket.send(frameOf(FrameType.windowUpdate, 0, 0, increment));
  }
}

function greeting(): Buffer {
  const settings = Buffer.alloc(6);
  settings.writeUInt16BE(SETTING_INITIAL_WINDOW, 0);
  settings.writeUInt32BE(MAX_WINDOW, 2);
  const increment = Buffer.alloc(4);
  increment.writeUInt32BE(MAX_WINDOW - DEFAULT_WINDOW);
  return Buffer.concat([
    Buffer.from(PREFACE, 'latin1'),
    frameOf(FrameType.settings, 0, 0, settings),
    frameOf(FrameType.windowUpdate, 0, 0, increment),
  ]);
}

function frameOf(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  frame.set(payload, FRAME_HEAD_BYTES);
  return frame;
}
