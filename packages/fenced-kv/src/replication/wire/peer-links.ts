/**
 * Connections between the replicas of a group. Each replica dials every other one, and says what it has to say on the connections that it
 * has dialed; what others say comes on theirs. A connection counts when both ends have proved that they know the group's secret. Messages
 * of one connection arrive in order and at most once. What a broken one has lost is not sent again: whoever uses them begins anew.
 */

import type { Address, Clock, Connection, Listener, Logger, Network, Random, Timer } from '@holdfast/runtime';

import type { Message, ReplicaId } from '../core/index.ts';
import { assertProof, decodeAnswer, decodeChallenge, decodeHello, encodeAnswer, encodeChallenge } from './handshake.ts';
import { encodeHello, HandshakeError, MIN_SECRET_BYTES, NONCE_BYTES, proofOf, type Hello } from './handshake.ts';
import { decodeMessage, encodeMessage, MAX_FRAME_BYTES } from './message-codec.ts';

const DIAL_TIMEOUT_MS = 2_000;
const HANDSHAKE_TIMEOUT_MS = 2_000;
/** How long until a peer is dialed again. */
const REDIAL_MS = 200;
/** Bytes that a peer has not taken: more, and its connection ends. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** Bytes that a stranger may send. */
const MAX_GREETING_BYTES = 4 * 1024;
/** Connections in all, and of one address that is not a loopback one. */
const MAX_SOCKETS = 64;
const MAX_SOCKETS_PER_ADDRESS = 16;

interface PeerLinksOptions {
  readonly group: string;
  readonly self: ReplicaId;
  readonly listen: Address;
  /** Where each other replica listens. */
  readonly peers: ReadonlyMap<ReplicaId, Address>;
  /** At least 16 bytes, the same for all replicas of the group. */
  readonly secret: Uint8Array;
}

interface PeerLinksDeps {
  readonly network: Network;
  readonly clock: Clock;
  /** Fit for secrets. */
  readonly random: Random;
  readonly logger: Logger;
  message(from: ReplicaId, message: Message): void;
  /** A connection from or to the replica counts from now on: what was under way to it, or from it, may be lost. */
  connected(replica: ReplicaId): void;
  /** There is no connection from or to the replica any more. @default nothing */
  readonly disconnected?: (replica: ReplicaId) => void;
}

export class PeerLinks {
  readonly #options: PeerLinksOptions;
  readonly #deps: PeerLinksDeps;
  readonly #dialed = new Map<ReplicaId, Connection>();
  readonly #accepted = new Map<ReplicaId, Connection>();
  readonly #timers = new Set<Timer>();
  #listener: Listener | undefined;
  #closed = false;

  private constructor(options: PeerLinksOptions, deps: PeerLinksDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Listens, and dials the others until it is closed. Rejects with ListenError. @throws TypeError for a secret that is too short */
  static async open(options: PeerLinksOptions, deps: PeerLinksDeps): Promise<PeerLinks> {
    if (options.secret.length < MIN_SECRET_BYTES) {
      throw new TypeError(
        `the secret of a group has at least ${MIN_SECRET_BYTES} bytes, and this one ${options.secret.length}; draw a longer one`,
      );
    }
    const links = new PeerLinks(options, deps);
    links.#listener = await deps.network.listen({
      address: options.listen,
      maxFrameBytes: MAX_FRAME_BYTES,
      maxGreetingBytes: MAX_GREETING_BYTES,
      maxSockets: MAX_SOCKETS,
      maxSocketsPerAddress: MAX_SOCKETS_PER_ADDRESS,
      onConnection: (connection) => links.#accept(connection),
    });
    for (const replica of options.peers.keys()) links.#dial(replica);
    return links;
  }

  /** With the real port where port 0 was asked for. */
  get address(): Address {
    return this.#listener?.address ?? this.#options.listen;
  }

  /** What cannot be sent now is lost. */
  send(to: ReplicaId, message: Message): void {
    const connection = this.#dialed.get(to);
    if (connection === undefined) return;
    connection.send(encodeMessage(message));
    if (connection.bufferedBytes <= MAX_UNSENT_BYTES) return;
    this.#deps.logger.warn(
      { replica: to, bytes: connection.bufferedBytes },
      'a replica takes too little; connecting anew',
    );
    connection.destroy();
  }

  /** The replica is silent: its connections may be dead without anybody having said so. */
  reset(replica: ReplicaId): void {
    this.#dialed.get(replica)?.destroy();
    this.#accepted.get(replica)?.destroy();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    for (const connection of [...this.#dialed.values(), ...this.#accepted.values()]) connection.destroy();
    await this.#listener?.close();
  }

  #dial(replica: ReplicaId): void {
    const address = this.#options.peers.get(replica);
    if (this.#closed || address === undefined) return;
    const dial = { address, timeoutMs: DIAL_TIMEOUT_MS, maxFrameBytes: MAX_GREETING_BYTES };
    this.#deps.network.dial(dial).then(
      (connection) => (this.#closed ? connection.destroy() : this.#greet(replica, connection)),
      () => this.#dialLater(replica),
    );
  }

  #dialLater(replica: ReplicaId): void {
    this.#after(REDIAL_MS, () => this.#dial(replica));
  }

  /** As the dialer. */
  #greet(replica: ReplicaId, connection: Connection): void {
    const { group, self, secret } = this.#options;
    const hello: Hello = { group, from: self, to: replica, nonce: this.#nonce() };
    const late = this.#closeLater(connection);
    let proved = false;
    connection.setHandler({
      frame: (bytes) => {
        this.#guarded(connection, replica, () => {
          // Nothing else comes this way.
          if (proved) throw new HandshakeError('a replica answered on a connection that it has not dialed');
          const challenge = decodeChallenge(bytes);
          assertProof(proofOf(secret, 'listener', hello, challenge.nonce), challenge.proof);
          proved = true;
          late.cancel();
          connection.send(encodeAnswer(proofOf(secret, 'dialer', hello, challenge.nonce)));
          this.#dialed.set(replica, connection);
          this.#deps.connected(replica);
        });
      },
      close: () => {
        late.cancel();
        if (this.#dialed.get(replica) === connection) {
          this.#dialed.delete(replica);
          this.#lost(replica);
        }
        this.#dialLater(replica);
      },
    });
    connection.send(encodeHello(hello));
  }

  /** As the listener. */
  #accept(connection: Connection): void {
    const late = this.#closeLater(connection);
    let hello: Hello | undefined;
    let answer = '';
    let from: ReplicaId | undefined;
    connection.setHandler({
      frame: (bytes) => {
        this.#guarded(connection, from ?? hello?.from, () => {
          if (from !== undefined) {
            this.#deps.message(from, decodeMessage(bytes));
          } else if (hello === undefined) {
            hello = this.#checked(decodeHello(bytes));
            answer = this.#nonce();
            const proof = proofOf(this.#options.secret, 'listener', hello, answer);
            connection.send(encodeChallenge({ nonce: answer, proof }));
          } else {
            assertProof(proofOf(this.#options.secret, 'dialer', hello, answer), decodeAnswer(bytes));
            from = hello.from;
            late.cancel();
            connection.admit();
            // Its former one is dead, or will be: what comes on it would come too late.
            this.#accepted.get(from)?.destroy();
            this.#accepted.set(from, connection);
            this.#deps.connected(from);
          }
        });
      },
      close: () => {
        late.cancel();
        if (from === undefined || this.#accepted.get(from) !== connection) return;
        this.#accepted.delete(from);
        this.#lost(from);
      },
    });
  }

  #lost(replica: ReplicaId): void {
    if (!this.#closed && !this.#dialed.has(replica) && !this.#accepted.has(replica)) this.#deps.disconnected?.(replica);
  }

  #checked(hello: Hello): Hello {
    const { group, self, peers } = this.#options;
    if (hello.group !== group)
      throw new HandshakeError(`the other end is of group "${hello.group}", and this one of "${group}"`);
    if (hello.to !== self)
      throw new HandshakeError(
        `the other end looks for replica ${hello.to}, and this is ${self}; correct its addresses`,
      );
    if (!peers.has(hello.from))
      throw new HandshakeError(`replica ${hello.from} is not in the group as this one knows it`);
    return hello;
  }

  /** Whatever is wrong with a frame ends its connection, and nothing else. */
  #guarded(connection: Connection, replica: ReplicaId | undefined, body: () => void): void {
    if (!connection.open) return;
    try {
      body();
    } catch (error) {
      const fields = { replica, remoteAddress: connection.remoteAddress, err: error };
      this.#deps.logger.warn(fields, 'a connection of a replica was refused');
      connection.destroy();
    }
  }

  #closeLater(connection: Connection): Timer {
    return this.#after(HANDSHAKE_TIMEOUT_MS, () => connection.destroy());
  }

  #after(delayMs: number, action: () => void): Timer {
    const timer = this.#deps.clock.setTimer(delayMs, () => {
      this.#timers.delete(handle);
      if (!this.#closed) action();
    });
    const handle: Timer = {
      cancel: () => {
        this.#timers.delete(handle);
        timer.cancel();
      },
    };
    this.#timers.add(handle);
    return handle;
  }

  #nonce(): string {
    return Buffer.from(this.#deps.random.bytes(NONCE_BYTES)).toString('hex');
  }
}
