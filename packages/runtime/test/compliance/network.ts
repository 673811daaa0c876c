/** What every Network must do. Frames of one connection arrive in order; everything else may be lost with it. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection, Listener, ListenOptions, Network } from '../../src/index.ts';
import type { Fixture } from './fixture.ts';

export interface NetworkFixture extends Fixture {
  readonly server: Network;
  readonly client: Network;
  /** An address of the server with port 0. */
  readonly anyAddress: string;
  /** An address that the server does not have. */
  readonly foreignAddress: string;
}

const MAX_FRAME_BYTES = 1_000_000;

/** Everything that one end of a connection has heard. */
class Ear {
  readonly frames: string[] = [];
  readonly closes: string[] = [];

  constructor(connection: Connection) {
    connection.setHandler({
      frame: (bytes) => void this.frames.push(text(bytes)),
      close: (reason) => void this.closes.push(reason),
    });
  }
}

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const text = (value: Uint8Array): string => new TextDecoder().decode(value);

export function networkCompliance(name: string, setup: () => Promise<NetworkFixture>): void {
  describe(`the network of the ${name} runtime`, () => {
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

    const listen = async (options: Partial<ListenOptions> = {}): Promise<Listener> => {
      const listener = await fixture.complete(
        fixture.server.listen({
          address: fixture.anyAddress,
          maxFrameBytes: MAX_FRAME_BYTES,
          onConnection() {},
          ...options,
        }),
      );
      listeners.push(listener);
      return listener;
    };
    const dial = (address: string, maxFrameBytes = MAX_FRAME_BYTES): Promise<Connection> =>
      fixture.complete(fixture.client.dial({ address, timeoutMs: 5_000, maxFrameBytes }));

    /** Two joined ends, both with an ear. */
    const pair = async (options: Partial<ListenOptions> = {}) => {
      const accepted: { connection: Connection; ear: Ear }[] = [];
      const listener = await listen({
        onConnection: (connection) => accepted.push({ connection, ear: new Ear(connection) }),
        ...options,
      });
      const near = await dial(listener.address);
      const nearEar = new Ear(near);
      await fixture.until(() => accepted.length === 1);
      const [first] = accepted;
      if (first === undefined) throw new Error('nothing was accepted');
      return { listener, near, nearEar, far: first.connection, farEar: first.ear };
    };

    it('listens on a real port where port 0 was asked for', async () => {
      const listener = await listen();
      expect(listener.address).toMatch(/:[1-9]\d*$/);
    });

    it('delivers frames both ways, in order, each once', async () => {
      const { near, nearEar, far, farEar } = await pair();
      const sent = Array.from({ length: 200 }, (_, n) => `frame ${n}`);
      for (const each of sent) {
        near.send(bytes(each));
        far.send(bytes(`answer to ${each}`));
      }
      await fixture.until(() => farEar.frames.length >= 200 && nearEar.frames.length >= 200);
      expect(farEar.frames).toEqual(sent);
      expect(nearEar.frames).toEqual(sent.map((each) => `answer to ${each}`));
    });

    it('delivers empty and large frames whole', async () => {
      const { near, farEar } = await pair();
      const large = 'x'.repeat(MAX_FRAME_BYTES);
      near.send(bytes(''));
      near.send(bytes(large));
      await fixture.until(() => farEar.frames.length === 2);
      expect(farEar.frames[0]).toBe('');
      expect(farEar.frames[1] === large).toBe(true);
    });

    it('hands over plain Uint8Arrays, whose methods copy where those of Buffer do not', async () => {
      const kinds: unknown[] = [];
      const listener = await listen({
        onConnection: (connection) =>
          connection.setHandler({ frame: (frame) => kinds.push(frame.constructor), close() {} }),
      });
      (await dial(listener.address)).send(bytes('a'));
      await fixture.until(() => kinds.length === 1);
      expect(kinds).toEqual([Uint8Array]);
    });

    it('loses no frame that is sent as soon as the connection is accepted', async () => {
      const listener = await listen({
        onConnection: (connection) => {
          connection.setHandler({ frame() {}, close() {} });
          for (const word of ['welcome', 'to', 'you']) connection.send(bytes(word));
        },
      });
      const ear = new Ear(await dial(listener.address));
      await fixture.until(() => ear.frames.length === 3);
      expect(ear.frames).toEqual(['welcome', 'to', 'you']);
    });

    it('tells both sides once, and the other one why, when a side closes', async () => {
      const { near, nearEar, far, farEar } = await pair();
      near.send(bytes('last words'));
      near.close('moving to the leader');
      expect(near.open).toBe(false);
      await fixture.until(() => nearEar.closes.length > 0 && farEar.closes.length > 0);
      expect(farEar.frames).toEqual(['last words']);
      expect(farEar.closes).toEqual(['moving to the leader']);
      expect(nearEar.closes).toHaveLength(1);
      expect(far.open).toBe(false);
    });

    it('hands over nothing after its own side closed or destroyed it', async () => {
      for (const end of ['close', 'destroy'] as const) {
        const { near, nearEar, far } = await pair();
        near[end]();
        far.send(bytes('too late'));
        await fixture.until(() => nearEar.closes.length > 0);
        expect(nearEar.frames).toEqual([]);
      }
    });

    it('passes on a close reason that is too long for a close frame, cut', async () => {
      const { near, farEar } = await pair();
      near.close('é'.repeat(500));
      await fixture.until(() => farEar.closes.length > 0);
      expect(farEar.closes[0]).toMatch(/^é+$/);
    });

    it('counts the bytes that have come', async () => {
      const { near, far, farEar } = await pair();
      const before = far.receivedBytes;
      near.send(bytes('heard'));
      await fixture.until(() => farEar.frames.length > 0);
      const between = far.receivedBytes;
      expect(between).toBeGreaterThanOrEqual(before + 5);
      near.send(bytes('x'.repeat(90)));
      await fixture.until(() => farEar.frames.length > 1);
      expect(far.receivedBytes).toBeGreaterThanOrEqual(between + 90);
      expect(far.receivedBytes).toBeLessThan(between + 190);
    });

    it('tells both sides when a side destroys the connection', async () => {
      const { far, farEar, nearEar } = await pair();
      far.destroy();
      expect(far.open).toBe(false);
      expect(farEar.closes).toEqual([]);
      await fixture.until(() => nearEar.closes.length > 0 && farEar.closes.length > 0);
      expect(nearEar.closes).toHaveLength(1);
      expect(farEar.closes).toHaveLength(1);
    });

    it('does nothing, and does not throw, on a closed connection', async () => {
      const { near, nearEar } = await pair();
      near.destroy();
      near.send(bytes('nobody hears'));
      near.close('again');
      near.destroy();
      await fixture.until(() => nearEar.closes.length > 0);
      near.send(bytes('nobody hears'));
      near.close();
      expect(near.bufferedBytes).toBe(0);
      expect(nearEar.closes).toHaveLength(1);
    });

    it('tells a handler that is set late in the turn of a close that the connection is closed', async () => {
      const listener = await listen({
        onConnection: (connection) => connection.setHandler({ frame() {}, close() {} }),
      });
      const connection = await dial(listener.address);
      connection.destroy();
      const ear = new Ear(connection);
      await fixture.until(() => ear.closes.length > 0);
      expect(ear.closes).toHaveLength(1);
    });

    it('closes the connection at a frame that is longer than the receiver allows', async () => {
      const { near, nearEar, farEar } = await pair({ maxFrameBytes: 100 });
      near.send(bytes('x'.repeat(100)));
      near.send(bytes('x'.repeat(101)));
      await fixture.until(() => nearEar.closes.length > 0 && farEar.closes.length > 0);
      expect(farEar.frames).toEqual(['x'.repeat(100)]);
      expect(farEar.closes[0]).toContain('longer than the limit of 100');
    });

    it('closes a connection that sends more than a greeting before it is admitted, and none that is admitted', async () => {
      const { near, nearEar, farEar } = await pair({ maxGreetingBytes: 100 });
      near.send(bytes('hello'));
      near.send(bytes('x'.repeat(100)));
      await fixture.until(() => nearEar.closes.length > 0 && farEar.closes.length > 0);
      expect(farEar.frames).toEqual(['hello']);
      expect(farEar.closes[0]).toContain('before a greeting was accepted');
      const admitting = await listen({
        maxGreetingBytes: 100,
        onConnection: (connection) =>
          connection.setHandler({
            frame: (frame) => {
              connection.admit();
              connection.send(frame);
            },
            close() {},
          }),
      });
      const admitted = await dial(admitting.address);
      const ear = new Ear(admitted);
      for (const each of ['hello', 'x'.repeat(1_000)]) admitted.send(bytes(each));
      await fixture.until(() => ear.frames.length === 2);
    });

    it.each([
      ['in all', { maxSockets: 2 }],
      ['from one address', { maxSocketsPerAddress: 2, maxSocketsPerLoopbackAddress: 2 }],
    ])('closes a connection beyond the limit %s, and accepts again when one has gone', async (_, limits) => {
      const listener = await listen({
        ...limits,
        onConnection: (connection) => connection.setHandler({ frame() {}, close() {} }),
      });
      const first = await dial(listener.address);
      await dial(listener.address);
      await expect(dial(listener.address)).rejects.toMatchObject({ name: 'DialError' });
      expect(listener.load.sockets).toBe(2);
      first.destroy();
      await fixture.until(() => listener.load.sockets === 1);
      await dial(listener.address);
    });

    it('fails a dial with "refused" where nothing listens', async () => {
      const listener = await listen();
      await fixture.complete(listener.close());
      await expect(dial(listener.address)).rejects.toMatchObject({ name: 'DialError', failure: 'refused' });
    });

    it('fails a dial with "failed" where the listener does not answer for that host', async () => {
      const listener = await listen({ allowedHosts: { names: ['elsewhere.example'], anyAddress: false } });
      await expect(dial(listener.address)).rejects.toMatchObject({ name: 'DialError', failure: 'failed' });
    });

    it('refuses malformed addresses with a message that shows them', async () => {
      for (const address of ['nonsense', 'a:b', ':7101', 'host:99999']) {
        await expect(dial(address)).rejects.toThrow(`"${address}" is not an address`);
        await expect(listen({ address })).rejects.toThrow(`"${address}" is not an address`);
      }
    });

    it('refuses to listen twice on one port, and on an address that the host does not have', async () => {
      const { address } = await listen();
      await expect(listen({ address })).rejects.toMatchObject({ name: 'ListenError', code: 'ADDRESS_IN_USE' });
      await expect(listen({ address: fixture.foreignAddress })).rejects.toMatchObject({
        name: 'ListenError',
        code: 'ADDRESS_NOT_AVAILABLE',
      });
    });

    it('frees the port and ends the accepted connections when a listener closes', async () => {
      const { listener, nearEar, farEar } = await pair();
      await fixture.complete(listener.close());
      await fixture.until(() => nearEar.closes.length > 0 && farEar.closes.length > 0);
      const again = await listen({ address: listener.address });
      expect(again.address).toBe(listener.address);
    });
  });
}
