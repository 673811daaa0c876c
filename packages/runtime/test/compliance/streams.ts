/** What every Network must do with streams of bytes: in order, cut anywhere; everything else may be lost with the stream. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ByteStream, Listener, StreamListenOptions } from '../../src/index.ts';
import type { NetworkFixture } from './network.ts';

/** Everything that one end of a stream has heard. */
class Heard {
  bytes: number[] = [];
  readonly closes: string[] = [];

  constructor(stream: ByteStream) {
    stream.setHandler({
      data: (bytes) => void this.bytes.push(...bytes),
      close: (reason) => void this.closes.push(reason),
    });
  }
}

export function streamCompliance(name: string, setup: () => Promise<NetworkFixture>): void {
  describe(`streams of bytes of the ${name} runtime`, () => {
    let fixture: NetworkFixture;
    let listeners: Listener[];

    beforeEach(async () => {
      fixture = await setup();
      listeners = [];
    });
    afterEach(async () => {
      for (const listener of listeners) await fixture.complete(listener.close());
      await fixture.teardown();
    });

    const listen = async (options: Partial<StreamListenOptions> = {}): Promise<Listener> => {
      const listener = await fixture.complete(
        fixture.server.listenForStreams({ address: fixture.anyAddress, onStream() {}, ...options }),
      );
      listeners.push(listener);
      return listener;
    };
    const dial = (address: string): Promise<ByteStream> =>
      fixture.complete(fixture.client.dialStream({ address, timeoutMs: 5_000 }));
    const pair = async (options: Partial<StreamListenOptions> = {}) => {
      const accepted: { stream: ByteStream; heard: Heard }[] = [];
      const onStream = (stream: ByteStream): void => void accepted.push({ stream, heard: new Heard(stream) });
      const listener = await listen({ onStream, ...options });
      const near = await dial(listener.address);
      const nearHeard = new Heard(near);
      await fixture.until(() => accepted.length > 0);
      const [far] = accepted;
      if (far === undefined) throw new Error('nothing was accepted');
      return { listener, near, nearHeard, far: far.stream, farHeard: far.heard };
    };

    it('carry all bytes both ways, in order, however they are cut', async () => {
      const { near, nearHeard, far, farHeard } = await pair();
      const sent = Array.from({ length: 5_000 }, (_, n) => (n * 7) % 256);
      for (let from = 0; from < sent.length; from += 37) {
        near.write(Uint8Array.from(sent.slice(from, from + 37)));
        far.write(Uint8Array.from(sent.slice(from, from + 37)));
      }
      await fixture.until(() => farHeard.bytes.length >= sent.length && nearHeard.bytes.length >= sent.length);
      expect(farHeard.bytes).toEqual(sent);
      expect(nearHeard.bytes).toEqual(sent);
      expect(far.receivedBytes).toBe(sent.length);
    });

    it('lose nothing that comes before there is a handler', async () => {
      const accepted: ByteStream[] = [];
      const listener = await listen({ onStream: (stream) => void accepted.push(stream) });
      const near = await dial(listener.address);
      near.write(Uint8Array.of(1, 2, 3));
      await fixture.until(() => accepted.length === 1);
      const [far] = accepted;
      const heard = far === undefined ? undefined : new Heard(far);
      await fixture.until(() => heard?.bytes.length === 3);
      expect(heard?.bytes).toEqual([1, 2, 3]);
    });

    it('flush what was written before they close, and tell both sides once', async () => {
      const { near, nearHeard, far, farHeard } = await pair();
      near.write(Uint8Array.of(1, 2, 3));
      near.close();
      far.write(Uint8Array.of(9));
      await fixture.until(() => nearHeard.closes.length > 0 && farHeard.closes.length > 0);
      expect(farHeard.bytes).toEqual([1, 2, 3]);
      expect(nearHeard.bytes).toEqual([]);
      expect([nearHeard.closes.length, farHeard.closes.length]).toEqual([1, 1]);
      expect([near.open, far.open]).toEqual([false, false]);
    });

    it('tell both sides when one destroys them', async () => {
      const { nearHeard, far, farHeard } = await pair();
      far.destroy();
      expect(far.open).toBe(false);
      expect(farHeard.closes).toEqual([]);
      await fixture.until(() => nearHeard.closes.length > 0 && farHeard.closes.length > 0);
      expect([nearHeard.closes.length, farHeard.closes.length]).toEqual([1, 1]);
    });

    it('do nothing, and do not throw, once they are closed', async () => {
      const { near, nearHeard } = await pair();
      near.destroy();
      near.write(Uint8Array.of(1));
      near.close();
      near.destroy();
      await fixture.until(() => nearHeard.closes.length > 0);
      near.write(Uint8Array.of(1));
      expect(near.bufferedBytes).toBe(0);
      expect(nearHeard.closes).toHaveLength(1);
    });

    it('are not accepted beyond the limit, and again when one has gone', async () => {
      const { listener, near } = await pair({ maxSockets: 1 });
      const second = await dial(listener.address).then(
        (stream) => new Heard(stream),
        () => undefined,
      );
      if (second !== undefined) await fixture.until(() => second.closes.length === 1);
      expect(listener.load.sockets).toBe(1);
      near.destroy();
      await fixture.until(() => listener.load.sockets === 0);
      const third = await dial(listener.address);
      await fixture.until(() => listener.load.sockets === 1);
      expect(third.open).toBe(true);
    });

    it('end when their listener closes, which frees the port', async () => {
      const { listener, nearHeard } = await pair();
      await fixture.complete(listener.close());
      await fixture.until(() => nearHeard.closes.length > 0);
      expect((await listen({ address: listener.address })).address).toBe(listener.address);
    });

    it('fail to be dialled with "refused" where nothing listens', async () => {
      const listener = await listen();
      await fixture.complete(listener.close());
      await expect(dial(listener.address)).rejects.toMatchObject({ name: 'DialError', failure: 'refused' });
    });

    it('are refused, as connections are, when TLS is asked for: nothing goes in the clear instead', async () => {
      const tls = { certificate: '', privateKey: '' };
      const { server, client, anyAddress } = fixture;
      const connections = { address: anyAddress, maxFrameBytes: 100, onConnection() {}, tls };
      const { address } = await listen();
      const attempts: readonly Promise<unknown>[] = [
        server.listenForStreams({ address: anyAddress, onStream() {}, tls }),
        server.listen(connections),
        client.dialStream({ address, timeoutMs: 5_000, tls }),
        client.dial({ address, timeoutMs: 5_000, maxFrameBytes: 100, tls }),
      ];
      for (const attempt of attempts) await expect(fixture.complete(attempt)).rejects.toThrow('TLS is not supported');
    });
  });
}
