/** A WebSocket as a `Connection`: one binary frame a `send`, frames handed over in the socket's own callback. */

import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { RawData } from 'ws';

import type { Address } from '../../network/address.ts';
import type { Connection, ConnectionHandler, ListenerRefusal } from '../../network/network.ts';
import { readFramesPastWs, type FrameReader } from './frame-reader.ts';
import type { InputBudget, InputDebtor } from './input-budget.ts';
import { MAX_COPIED_FRAME_BYTES, clientFrame, serverFrame } from './whole-frame.ts';

/** What a close frame has room for. */
const MAX_CLOSE_REASON_BYTES = 123;

/** Finds out about a peer whose machine has gone while nothing is sent. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/** Close codes of RFC 6455, section 7.4.1. */
const CLOSE_NORMAL = 1_000;
const CLOSE_UNSUPPORTED_DATA = 1_003;
const CLOSE_POLICY_VIOLATION = 1_008;
const MEANING_OF_CODE: ReadonlyMap<number, string> = new Map([
  [1_000, 'closed by the peer'],
  [1_001, 'the peer is going away'],
  [1_003, 'the peer refused a text frame'],
  [1_005, 'closed by the peer'],
  [1_006, 'the connection was lost'],
  [1_009, 'the peer refused a frame as too long'],
]);

const SEND_OPTIONS = { binary: true, compress: false, fin: true };

/** ws reports a failed send by closing as well. */
const ignore = (): void => {};

export interface NodeConnectionOptions {
  readonly remoteAddress: Address;
  readonly maxFrameBytes: number;
  /** Before it is admitted. @default any number */
  readonly maxGreetingBytes?: number | undefined;
  /** Where frames that are not whole are counted. @default nowhere */
  readonly input?: InputBudget;
  /** Hears why this side closes the connection of itself. */
  readonly refused?: (reason: ListenerRefusal, remoteAddress: Address, problem: string) => void;
}

export class NodeConnection implements Connection, InputDebtor {
  readonly remoteAddress: Address;
  readonly peerIdentity = undefined;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  /** The whole frame of a payload, as this side has to send it. */
  readonly #frameOf: (payload: Uint8Array) => Buffer;
  readonly #reader: FrameReader | undefined;
  readonly #options: NodeConnectionOptions;
  #handler: ConnectionHandler | undefined;
  /** What came before there was a handler. */
  #unheard: Uint8Array[] = [];
  /** This side has ended it: nothing that still arrives is handed over. */
  #ended = false;
  #reason: string | undefined;
  #closed = false;
  #closeHeard = false;

  constructor(side: 'server' | 'client', webSocket: WebSocket, socket: Socket, options: NodeConnectionOptions) {
    const { remoteAddress, maxFrameBytes, maxGreetingBytes = Infinity, input } = options;
    this.#options = options;
    this.remoteAddress = remoteAddress;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#frameOf = side === 'server' ? serverFrame : clientFrame;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
    webSocket.on('message', (data: RawData, isBinary: boolean) => {
      this.#reader?.messageEnded();
      this.#receiveFromWs(data, isBinary);
    });
    webSocket.on('ping', () => this.#reader?.messageEnded());
    webSocket.on('pong', () => this.#reader?.messageEnded());
    const frames = {
      frame: (bytes: Uint8Array) => this.#receive(bytes),
      unfinished: (bytes: number, frame: number) => {
        input?.owes(this, this.#closed ? 0 : bytes, frame);
        if (bytes > 0 && input?.crowded === true) this.#readOnInNextTurn();
      },
      tooMuch: () =>
        this.#refuse('too-much-before-greeting', `over ${maxGreetingBytes} bytes came before a greeting was accepted`),
    };
    this.#reader = readFramesPastWs(socket, frames, { masked: side === 'server', maxFrameBytes });
    if (this.#reader !== undefined) this.#reader.allowance = maxGreetingBytes;
    webSocket.on('error', (error: NodeJS.ErrnoException) => {
      const tooLong = error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
      this.#reason ??= tooLong ? `a frame is longer than the limit of ${maxFrameBytes} bytes` : error.message;
    });
    webSocket.on('close', (code: number, reason: Buffer) => {
      this.#closed = true;
      input?.owes(this, 0);
      this.#reason ??= reason.length > 0 ? reason.toString('utf8') : (MEANING_OF_CODE.get(code) ?? `closed (${code})`);
      this.#hearClose();
    });
  }

  get open(): boolean {
    return !this.#ended && this.#webSocket.readyState === WebSocket.OPEN;
  }

  get bufferedBytes(): number {
    // What ws itself holds back is none: it neither compresses nor waits.
    return this.#closed ? 0 : this.#socket.writableLength;
  }

  get receivedBytes(): number {
    return this.#socket.bytesRead;
  }

  admit(): void {
    if (this.#reader !== undefined) this.#reader.allowance = Infinity;
  }

  forgetInput(reason: ListenerRefusal, problem: string): void {
    this.#refuse(reason, problem);
  }

  /** Lets frames wait in the kernel until there is a handler. */
  holdUntilHandled(): void {
    if (this.#handler === undefined) this.#webSocket.pause();
  }

  setHandler(handler: ConnectionHandler): void {
    const first = this.#handler === undefined;
    this.#handler = handler;
    if (first) queueMicrotask(() => this.#flush());
  }

  send(frame: Uint8Array): void {
    if (!this.open) return;
    // ws has nothing of its own under way in between, since it neither compresses nor sends fragments here.
    if (frame.length <= MAX_COPIED_FRAME_BYTES) this.#socket.write(this.#frameOf(frame));
    else this.#webSocket.send(frame, SEND_OPTIONS, ignore);
  }

  close(reason = ''): void {
    this.#end(reason === '' ? 'closed by this side' : reason, CLOSE_NORMAL, reason);
  }

  destroy(): void {
    this.#ended = true;
    this.#reason ??= 'destroyed by this side';
    this.#webSocket.terminate();
  }

  /** The system would hand over up to 2 MiB of one socket in a turn. */
  #readOnInNextTurn(): void {
    if (this.#ended || this.#webSocket.isPaused) return;
    this.#webSocket.pause();
    setImmediate(() => {
      if (this.#handler !== undefined) this.#webSocket.resume();
    });
  }

  /** Says why as far as that gets in a moment; memory is to be given back. */
  #refuse(reason: ListenerRefusal, problem: string): void {
    this.#options.refused?.(reason, this.remoteAddress, problem);
    this.#reason ??= problem;
    this.#ended = true;
    this.#webSocket.close(CLOSE_POLICY_VIOLATION, shortened(problem));
    this.#webSocket.terminate();
  }

  #receiveFromWs(data: RawData, isBinary: boolean): void {
    if (this.#ended) return;
    if (!isBinary) {
      const reason = 'a text frame came where only binary ones are allowed';
      this.#end(reason, CLOSE_UNSUPPORTED_DATA, reason);
      return;
    }
    // With its default binary type ws hands over one Buffer; the view hides what Buffer's methods do differently.
    const buffer = data as Buffer;
    this.#receive(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length));
  }

  #receive(bytes: Uint8Array): void {
    if (this.#ended) return;
    if (this.#handler === undefined || this.#unheard.length > 0) this.#unheard.push(bytes);
    else this.#handler.frame(bytes);
  }

  #end(ownReason: string, code: number, sentReason: string): void {
    if (this.#ended || this.#closed) return;
    this.#ended = true;
    this.#reason ??= ownReason;
    this.#webSocket.close(code, shortened(sentReason));
    // The peer's answer must be read even when nothing was read so far.
    this.#webSocket.resume();
  }

  #flush(): void {
    for (let frame = this.#unheard.shift(); frame !== undefined; frame = this.#unheard.shift()) {
      if (!this.#ended) this.#handler?.frame(frame);
    }
    this.#webSocket.resume();
    if (this.#closed) this.#hearClose();
  }

  #hearClose(): void {
    if (this.#closeHeard || this.#handler === undefined || this.#unheard.length > 0) return;
    this.#closeHeard = true;
    this.#handler.close(this.#reason ?? 'closed');
  }
}

function shortened(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > MAX_CLOSE_REASON_BYTES) text = text.slice(0, -1);
  return text;
}
