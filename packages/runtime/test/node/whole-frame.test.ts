import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/index.ts';
import type { Connection } from '../../src/index.ts';
import { nodeNetwork } from '../../src/node/index.ts';
import { MAX_COPIED_FRAME_BYTES, clientFrame, serverFrame } from '../../src/node/websocket/whole-frame.ts';
import { until } from './fixture.ts';

/** Either side of every limit at which a frame looks different or goes another way. */
const LENGTHS = [0, 1, 125, 126, 127, 255, 256, MAX_COPIED_FRAME_BYTES, MAX_COPIED_FRAME_BYTES + 1, 65_535, 65_536, 2];

function payload(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, n) => (n * 7 + length) % 256);
}

describe('a whole frame', () => {
  it('of a server is the bytes of RFC 6455: final, binary, unmasked, the length in as few bytes as it takes', () => {
    expect([...serverFrame(Uint8Array.of(7, 8))]).toEqual([0x82, 2, 7, 8]);
    expect([...serverFrame(payload(125)).subarray(0, 3)]).toEqual([0x82, 125, payload(125)[0]]);
    expect([...serverFrame(payload(126)).subarray(0, 5)]).toEqual([0x82, 126, 0, 126, payload(126)[0]]);
    expect([...serverFrame(payload(300)).subarray(0, 4)]).toEqual([0x82, 126, 1, 44]);
    expect(serverFrame(payload(300))).toHaveLength(304);
  });

  it('of a client is masked, with a key that leaves the payload as it is', () => {
    expect([...clientFrame(Uint8Array.of(7, 8))]).toEqual([0x82, 0x80 | 2, 0, 0, 0, 0, 7, 8]);
    expect([...clientFrame(payload(126)).subarray(0, 9)]).toEqual([0x82, 0xfe, 0, 126, 0, 0, 0, 0, payload(126)[0]]);
    expect(clientFrame(payload(300))).toHaveLength(308);
  });

  it.each(['server', 'client'])(
    'of a %s arrives in order, whichever way it goes, with the close behind it',
    async (side) => {
      const network = nodeNetwork({ logger: silentLogger });
      const accepted: Connection[] = [];
      const options = { maxFrameBytes: 100_000, allowedHosts: { names: ['127.0.0.1'], anyAddress: false } };
      const listener = await network.listen({
        ...options,
        address: '127.0.0.1:0',
        onConnection: (connection) => accepted.push(connection),
      });
      const client = await network.dial({ ...options, address: listener.address, timeoutMs: 5_000 });
      const arrived: Uint8Array[] = [];
      let closed: string | undefined;
      await until(() => accepted.length === 1);
      const [server] = accepted;
      const [from, to] = side === 'server' ? [server, client] : [client, server];
      to?.setHandler({ frame: (frame) => arrived.push(frame.slice()), close: (reason) => (closed = reason) });
      from?.setHandler({ frame() {}, close() {} });
      for (const length of LENGTHS) from?.send(payload(length));
      from?.close('that is all');
      await until(() => closed !== undefined);
      expect(closed).toContain('that is all');
      expect(arrived.map((frame) => frame.length)).toEqual(LENGTHS);
      for (const frame of arrived) expect(frame).toEqual(payload(frame.length));
      await listener.close();
    },
  );
});
