import fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as ws from 'ws';
import type { Socket } from 'node:net';
import { Duplex, type Writable } from 'node:stream';
import { silentLogger } from '../../src/index.ts';
import type { Connection } from '../../src/index.ts';
import { FrameReader, readFramesPastWs } from '../../src/node/websocket/frame-reader.ts';
import { nodeNetwork } from '../../src/node/index.ts';
import { until } from './fixture.ts';

/** What ws reads with; its types leave it out. */
const { Receiver } = ws as unknown as { readonly Receiver: new (options: object) => Writable };

const MAX_FRAME_BYTES = 70_000;
/** Either side of every limit at which a header looks different, and of what is allowed. */
const LENGTHS = [0, 1, 3, 4, 5, 60, 125, 126, 127, 300, 65_535, 65_536, MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1];
const BINARY = 2;

interface Frame {
  readonly first: number;
  readonly length: number;
  readonly mask: readonly [number, number, number, number] | undefined;
}

const FIN = 0x80;
const plain = FIN | BINARY;
/** Text, the two parts of a fragmented message, a continuation out of place, close, ping, pong, reserved bits and opcodes. */
const OTHERS = [0x81, 0x02, 0x80, 0x01, 0x88, 0x89, 0x8a, 0xc2, 0xa2, 0x83, 0x00];

function bytesOf({ first, length, mask }: Frame): Buffer {
  const size = length <= 125 ? 0 : length <= 65_535 ? 2 : 8;
  const header = Buffer.alloc(2 + size);
  header[0] = first;
  header[1] = (mask === undefined ? 0 : 0x80) | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size === 2) header.writeUInt16BE(length, 2);
  if (size === 8) header.writeBigUInt64BE(BigInt(length), 2);
  const payload = Buffer.from(Array.from({ length }, (_, at) => ((at * 31 + length) % 251) ^ (mask?.[at % 4] ?? 0)));
  return Buffer.concat([header, Buffer.from(mask ?? []), payload]);
}

/** Cuts that are taken in turn, until everything is cut. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    chunks.push(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
  }
  return chunks;
}

/** What a connection hears, in order, as ws tells it: after a close or an error it listens no more. */
class Heard {
  readonly events: string[] = [];
  readonly receiver: Writable;
  over = false;

  constructor(isServer: boolean) {
    this.receiver = new Receiver({ isServer, maxPayload: MAX_FRAME_BYTES, skipUTF8Validation: true });
    this.receiver.on('message', (data: Buffer, isBinary: boolean) => this.note(isBinary ? 'binary' : 'text', data));
    this.receiver.on('ping', (data: Buffer) => this.note('ping', data));
    this.receiver.on('pong', (data: Buffer) => this.note('pong', data));
    this.receiver.on('conclude', (code: number) => this.#end(`close ${code}`));
    this.receiver.on('error', (error: NodeJS.ErrnoException) => this.#end(`error ${error.code}`));
  }

  note(kind: string, data: Uint8Array): void {
    this.events.push(`${kind} ${data.length} ${Buffer.from(data).toString('base64').slice(0, 120)}`);
  }

  write(chunk: Buffer): void {
    if (!this.over) this.receiver.write(chunk);
  }

  #end(event: string): void {
    this.over = true;
    this.events.push(event);
  }
}

async function throughWs(chunks: readonly Buffer[], masked: boolean): Promise<string[]> {
  const heard = new Heard(masked);
  for (const chunk of chunks) {
    heard.write(chunk);
    await nextTurn();
  }
  return heard.events;
}

async function throughReader(
  chunks: readonly Buffer[],
  masked: boolean,
): Promise<{ events: string[]; passed: number }> {
  const heard = new Heard(masked);
  let passed = 0;
  const toWs = (bytes: Buffer): void => {
    passed += bytes.length;
    heard.write(bytes);
  };
  const reader = new FrameReader(
    {
      frame: (payload) => heard.note('binary', payload),
      pass: toWs,
      leave: toWs,
      tooMuch: () => {},
    },
    { masked, maxFrameBytes: MAX_FRAME_BYTES },
  );
  for (const chunk of chunks) {
    reader.read(chunk);
    await nextTurn();
  }
  return { events: heard.events, passed };
}

const copies = (chunks: readonly Buffer[]): Buffer[] => chunks.map((chunk) => Buffer.from(chunk));
const mask = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));

function frames(masked: boolean): fc.Arbitrary<Frame[]> {
  const own = masked ? mask : fc.constant(undefined);
  const length = fc.oneof({ arbitrary: fc.nat(200), weight: 4 }, { arbitrary: fc.constantFrom(...LENGTHS), weight: 1 });
  const usual = fc.record({ first: fc.constant(plain), length, mask: own });
  const other = fc.record({ first: fc.constantFrom(...OTHERS), length: fc.nat(130), mask: own });
  const wronglyMasked = fc.record({ first: fc.constant(plain), length, mask: masked ? fc.constant(undefined) : mask });
  return fc.array(
    fc.oneof(
      { arbitrary: usual, weight: 20 },
      { arbitrary: other, weight: 2 },
      { arbitrary: wronglyMasked, weight: 1 },
    ),
    { maxLength: 12 },
  );
}

describe.each([
  ['a client', true],
  ['a server', false],
])('what %s sends', (_, masked) => {
  it('is heard as ws hears it, however it is cut into chunks and whatever it is', async () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 20, max: 66_000 })), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(frames(masked), sizes, async (sent, cuts) => {
        // A frame of many bytes in chunks of one takes long, and shows nothing that a short one does not.
        const bytes = Buffer.concat(sent.map(bytesOf));
        fc.pre(bytes.length < 2_000 || Math.min(...cuts) > 500);
        const chunks = cut(bytes, cuts);
        const { events } = await throughReader(copies(chunks), masked);
        expect(events).toEqual(await throughWs(copies(chunks), masked));
      }),
      { numRuns: 400 },
    );
  });

  it('does not reach ws where a chunk holds whole binary frames', async () => {
    const sent = LENGTHS.filter((length) => length <= MAX_FRAME_BYTES).map((length): Frame => {
      return { first: plain, length, mask: masked ? [1, 2, 3, length % 256] : undefined };
    });
    const bytes = Buffer.concat(sent.map(bytesOf));
    const { events, passed } = await throughReader([Buffer.from(bytes)], masked);
    expect(passed).toBe(0);
    expect(events).toEqual(await throughWs([bytes], masked));
  });

  it('goes past ws again behind a frame that came in two parts', async () => {
    const frame: Frame = { first: plain, length: 300, mask: masked ? [9, 8, 7, 6] : undefined };
    const one = bytesOf(frame);
    for (let at = 1; at < one.length; at += 1) {
      const chunks = [one.subarray(0, at), Buffer.concat([one.subarray(at), one, one])];
      const { events, passed } = await throughReader(copies(chunks), masked);
      expect(passed).toBe(one.length);
      expect(events).toHaveLength(3);
      expect(new Set(events).size).toBe(1);
    }
  });
});

describe('a connection', () => {
  afterEach(() => vi.restoreAllMocks());

  it('reads frames past ws at both ends, and the close through it', async () => {
    const writes = vi.spyOn(Receiver.prototype as Writable, 'write');
    const network = nodeNetwork({ logger: silentLogger });
    const accepted: Connection[] = [];
    const options = { maxFrameBytes: MAX_FRAME_BYTES, allowedHosts: { names: ['127.0.0.1'], anyAddress: false } };
    const onConnection = (connection: Connection): void => void accepted.push(connection);
    const listener = await network.listen({ ...options, address: '127.0.0.1:0', onConnection });
    const client = await network.dial({ ...options, address: listener.address, timeoutMs: 5_000 });
    await until(() => accepted.length === 1);
    const heard: string[] = [];
    const handler = (name: string) => ({
      frame: (bytes: Uint8Array) => void heard.push(`${name} ${bytes.join()}`),
      close: (reason: string) => void heard.push(`${name} ${reason}`),
    });
    accepted[0]?.setHandler(handler('server'));
    client.setHandler(handler('client'));
    client.send(Uint8Array.of(1, 2));
    await until(() => heard.length === 1);
    accepted[0]?.send(Uint8Array.of(3));
    await until(() => heard.length === 2);
    expect(writes).not.toHaveBeenCalled();
    client.close('enough');
    await until(() => heard.length === 4);
    expect(heard.toSorted()).toEqual(['client enough', 'client 3', 'server 1,2', 'server enough'].toSorted());
    expect(writes).toHaveBeenCalled();
    await listener.close();
  });
});

describe('a socket whose frames are read past ws', () => {
  function heard(): { readonly socket: Duplex; readonly frames: string[]; readonly toWs: string[] } {
    const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
    const frames: string[] = [];
    const toWs: string[] = [];
    socket.on('data', (chunk: Buffer) => void toWs.push(chunk.toString('hex')));
    readFramesPastWs(
      socket as Socket,
      { frame: (payload) => void frames.push(payload.join()), unfinished: () => {}, tooMuch: () => {} },
      { masked: false, maxFrameBytes: MAX_FRAME_BYTES },
    );
    return { socket, frames, toWs };
  }
  const frameOf = (byte: number): Buffer => Buffer.from([FIN | BINARY, 1, byte]);

  it('hands them over at once, and not through the stream', () => {
    const { socket, frames } = heard();
    const events = vi.spyOn(socket, 'emit');
    socket.resume();
    expect(socket.push(frameOf(1))).toBe(true);
    expect(frames).toEqual(['1']);
    expect(events).not.toHaveBeenCalledWith('data', expect.anything());
  });

  it('keeps what comes while it is paused, and hears it in order when it goes on', async () => {
    const { socket, frames } = heard();
    socket.resume();
    socket.push(frameOf(1));
    socket.pause();
    socket.push(frameOf(2));
    await nextTurn();
    expect(frames).toEqual(['1']);
    socket.resume();
    // The stream has not handed over yet what it keeps.
    socket.push(frameOf(3));
    await nextTurn();
    socket.push(frameOf(4));
    expect(frames).toEqual(['1', '2', '3', '4']);
  });

  it('hears its end behind them, and nothing of ws once it is closed', async () => {
    const { socket, frames, toWs } = heard();
    let ended = false;
    let closed = false;
    socket.on('end', () => (ended = true)).on('close', () => (closed = true));
    socket.resume();
    socket.push(frameOf(1));
    socket.push(null);
    await until(() => ended);
    socket.destroy();
    await until(() => closed);
    expect({ frames, toWs, listeners: socket.listenerCount('data') }).toEqual({
      frames: ['1'],
      toWs: [],
      listeners: 0,
    });
  });
});

describe('what is counted of frames that are not whole', () => {
  function reading(): { readonly reader: FrameReader; readonly tooMuch: () => number } {
    let tooMuch = 0;
    const count = (): void => void (tooMuch += 1);
    const reader = new FrameReader(
      { frame() {}, pass() {}, leave() {}, tooMuch: count },
      { masked: true, maxFrameBytes: MAX_FRAME_BYTES },
    );
    return { reader, tooMuch: () => tooMuch };
  }
  const frame = (length: number, first = plain): Buffer => bytesOf({ first, length, mask: [1, 2, 3, 4] });

  it('is what has arrived since the frame began, and nothing once it is whole', () => {
    const { reader } = reading();
    const bytes = Buffer.concat([frame(10), frame(1_000)]);
    reader.read(bytes.subarray(0, 200));
    expect(reader.unfinishedBytes).toBe(200 - frame(10).length);
    const { frame: first } = reader;
    reader.read(bytes.subarray(200, 300));
    expect(reader.unfinishedBytes).toBe(300 - frame(10).length);
    expect(reader.frame).toBe(first);
    reader.read(Buffer.concat([bytes.subarray(300), frame(500).subarray(0, 7)]));
    expect(reader.unfinishedBytes).toBe(7);
    expect(reader.frame).not.toBe(first);
  });

  it('goes on where ws reads everything, until ws has a whole message', () => {
    const { reader } = reading();
    reader.read(frame(1_000, 0x02));
    reader.read(frame(1_000, 0x00));
    expect(reader.unfinishedBytes).toBe(2 * frame(1_000).length);
    reader.messageEnded();
    expect(reader.unfinishedBytes).toBe(0);
  });

  it('stops a connection once that sends more than it may, in whole frames, parts or what ws reads', () => {
    for (const sent of [frame(90), frame(1_000).subarray(0, 95), frame(90, 0x02), frame(90, 0x89)]) {
      const { reader, tooMuch } = reading();
      reader.allowance = 100;
      reader.read(Buffer.from(sent));
      expect(tooMuch()).toBe(0);
      reader.read(frame(10));
      reader.read(frame(10));
      expect(tooMuch()).toBe(1);
    }
  });
});
