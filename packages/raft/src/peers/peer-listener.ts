/**
 * Accepts connections of peers, greets whoever dials, and hands on what an admitted peer says. A newer connection of the same
 * peer replaces the older one; one from another data directory under its number does not, as long as the peer is connected. Who is not
 * admitted may say little, for a short time, and is sent nothing of this server.
 */

import {
  MalformedError,
  NO_FEATURES,
  commonFeatures,
  describeFeatures,
  hasFeature,
  missingFeatures,
  type FeatureSet,
} from '@holdfast/protocol';
import {
  RefusalLog,
  type Address,
  type Clock,
  type Connection,
  type ConnectionHandler,
  type ListenOptions,
  type Logger,
  type Random,
  type Timer,
} from '@holdfast/runtime';
import type { ServerId } from '../core/index.ts';
import type { ExpulsionVoice } from './expulsion-tally.ts';
import {
  MAX_GREETING_BYTES,
  NONCE_BYTES,
  PEER_PROTOCOL_VERSION,
  decodeExpulsion,
  decodeHello,
  decodeProof,
  encodeChallenge,
  encodeWelcome,
  helloVersion,
  type PeerHello,
} from './greeting-codec.ts';
import { NO_BYTES } from './greeting.ts';
import type { Candidate, OwnSecrets, Verdict } from './peer-admission.ts';
import { LinkWatch, isKeepAlive, silenceMs, type LinkTiming } from './link-watch.ts';
import { MAX_PEER_FRAME_BYTES } from './peer-codec.ts';
import { PEER_FEATURES, PeerFeature } from './peer-features.ts';
import { proofOf, proves, type Greeting } from './peer-proof.ts';

/** Until a connection is admitted. */
const GREETING_TIMEOUT_MS = 5_000;
/** Connections that are not admitted yet; one more ends the oldest, since a peer needs a moment only. */
export const MAX_UNGREETED_PEERS = 64;
/** Sockets from one address, loopback excepted. A peer needs one, and one each for a snapshot, a notice, and one that is about to close. */
const MAX_SOCKETS_PER_PEER_ADDRESS = 32;

type Refusal = Extract<Verdict, { type: 'refused' }>;

export interface PeerListenerEvents {
  accepted(peer: ServerId, peerAddress: Address, standing: 'member' | 'non-member'): void;
  frame(from: ServerId, connection: Connection, frame: Uint8Array): void;
  /** The peer wants to send a snapshot; who hears what it says on that connection, and its end. */
  snapshot(from: ServerId, connection: Connection): ConnectionHandler;
  /** The connection on which the peer was heard has closed or was replaced. */
  closed(peer: ServerId): void;
  /** A connection waits for what the link to the peer shows. */
  waits(peer: ServerId): void;
  /** The peer has no place in the ensemble any more. */
  expel(hello: PeerHello, refusal: Refusal): void;
  /** The peer says that this server has none. */
  expelled(voice: ExpulsionVoice): void;
}

export interface ListenerIdentity {
  readonly clusterId: string;
  readonly id: ServerId;
  readonly timing: LinkTiming;
  secrets(): OwnSecrets;
  /** By which the peer would prove itself; empty when none is known. */
  secretOf(peer: ServerId): string;
  incarnationOf(peer: ServerId): string;
  admission(candidate: Candidate): Verdict;
}

interface Heard {
  readonly connection: Connection;
  readonly hello: PeerHello;
  readonly candidate: Candidate;
  readonly incarnation: string;
  /** Undefined for a peer that may be silent. */
  readonly watch: LinkWatch | undefined;
}

/** A connection that has not been admitted. */
interface Ungreeted {
  readonly connection: Connection;
  readonly timer: Timer;
  challenged: { readonly hello: PeerHello; readonly greeting: Greeting } | undefined;
  candidate: Candidate | undefined;
  /** Who hears what it says once it is admitted. */
  handler: ConnectionHandler | undefined;
}

export class PeerListener {
  readonly #own: ListenerIdentity;
  readonly #events: PeerListenerEvents;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #refusals: RefusalLog;
  /** In the order in which they came. */
  readonly #ungreeted = new Set<Ungreeted>();
  readonly #heard = new Map<ServerId, Heard>();
  readonly #clientAddresses = new Map<ServerId, Address>();
  readonly #features = new Map<ServerId, FeatureSet>();

  constructor(
    own: ListenerIdentity,
    events: PeerListenerEvents,
    world: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
  ) {
    this.#own = own;
    this.#events = events;
    this.#clock = world.clock;
    this.#random = world.random;
    this.#logger = world.logger;
    this.#refusals = new RefusalLog('refused a peer connection', world);
  }

  /** Empty until the peer has been heard once. */
  clientAddress(peer: ServerId): Address {
    return this.#clientAddresses.get(peer) ?? '';
  }

  /** Whether the peer has been heard since this server started. */
  met(peer: ServerId): boolean {
    return this.#features.has(peer);
  }

  /** What the peer's last hello offered and this server knows; none before the first. */
  features(peer: ServerId): FeatureSet {
    return this.#features.get(peer) ?? NO_FEATURES;
  }

  /** Whether the peer has a connection here on which it could be heard. */
  hears(peer: ServerId): boolean {
    return this.#heard.has(peer);
  }

  /** Of its data directory; empty unless the peer is heard. */
  incarnation(peer: ServerId): string {
    return this.#heard.get(peer)?.incarnation ?? '';
  }

  /** After a change of who is admitted: those who are no longer lose their connection, and learn why once they have proved themselves. */
  admitAgain(): void {
    for (const { connection, hello, candidate } of this.#heard.values()) {
      const verdict = this.#own.admission(candidate);
      if (verdict.type === 'refused') this.#refuse(connection, hello, verdict);
    }
    for (const ungreeted of this.#ungreeted) this.#conclude(ungreeted);
  }

  /** Once in `lookMs`, and to let peers hear this server: how many should be heard, and are not, and have lost their connection. */
  look(): number {
    let silent = 0;
    for (const [peer, { connection, watch }] of this.#heard) {
      if (watch === undefined || watch.look()) continue;
      const silentMs = silenceMs(this.#own.timing);
      this.#logger.warn({ peer, silentMs }, 'a peer is not heard any more; closing the connection that it dialled');
      connection.destroy();
      silent += 1;
    }
    return silent;
  }

  /** The link to the peer has shown who is at its address. */
  shown(peer: ServerId): void {
    for (const ungreeted of this.#ungreeted) if (ungreeted.candidate?.hello.from === peer) this.#conclude(ungreeted);
  }

  /** Writes what the log still owes. */
  stop(): void {
    this.#refusals.stop();
  }

  listenOptions(address: Address): ListenOptions {
    return {
      address,
      maxGreetingBytes: MAX_GREETING_BYTES,
      maxFrameBytes: MAX_PEER_FRAME_BYTES,
      maxSocketsPerAddress: MAX_SOCKETS_PER_PEER_ADDRESS,
      onConnection: (connection) => this.#onConnection(connection),
    };
  }

  #onConnection(connection: Connection): void {
    const timer = this.#clock.setTimer(GREETING_TIMEOUT_MS, () => connection.close('no hello in time'));
    const state: Ungreeted = { connection, timer, challenged: undefined, candidate: undefined, handler: undefined };
    this.#ungreeted.add(state);
    if (this.#ungreeted.size > MAX_UNGREETED_PEERS) {
      const [oldest] = this.#ungreeted;
      if (oldest !== undefined) this.#dismiss(oldest);
      oldest?.connection.destroy();
    }
    connection.setHandler({
      frame: (bytes) => {
        if (state.handler !== undefined) state.handler.frame(bytes);
        else if (this.#ungreeted.has(state)) this.#greet(state, bytes);
      },
      close: (reason) => {
        this.#dismiss(state);
        state.handler?.close(reason);
      },
    });
  }

  #dismiss(state: Ungreeted): void {
    state.timer.cancel();
    this.#ungreeted.delete(state);
  }

  #greet(state: Ungreeted, frame: Uint8Array): void {
    const { connection } = state;
    try {
      if (state.challenged === undefined) this.#challenge(state, frame);
      else if (state.candidate === undefined) this.#examine(state, state.challenged, frame);
      else throw new MalformedError('it speaks before its welcome');
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      this.#turnAway(connection, 'malformed hello', 'malformed hello', error.message);
    }
  }

  #challenge(state: Ungreeted, frame: Uint8Array): void {
    const version = helloVersion(frame);
    if (version !== PEER_PROTOCOL_VERSION) {
      const problem = `peer protocol ${version} is not ${PEER_PROTOCOL_VERSION}: run the same version everywhere`;
      this.#turnAway(state.connection, 'another version', problem);
      return;
    }
    const hello = decodeHello(frame);
    const mistake = this.#mistake(hello);
    if (mistake !== undefined) {
      this.#turnAway(state.connection, mistake.reason, mistake.answer, mistake.answer, hello.from);
      return;
    }
    const greeting = { hello: Uint8Array.from(frame), nonce: this.#random.bytes(NONCE_BYTES) };
    state.challenged = { hello, greeting };
    const secret = this.#own.secretOf(hello.from);
    state.connection.send(
      encodeChallenge({
        nonce: greeting.nonce,
        ownProofs: this.#own.secrets().provenBy.map((own) => proofOf(own, 'listener', greeting)),
        yourProof: secret === '' ? NO_BYTES : proofOf(secret, 'listener', greeting),
        wantsIncarnation: this.#own.incarnationOf(hello.from) === '',
      }),
    );
  }

  /** What is answered says nothing of this server. */
  #mistake(hello: PeerHello): { readonly reason: string; readonly answer: string } | undefined {
    const unknown = missingFeatures(hello.required, PEER_FEATURES);
    if (unknown !== NO_FEATURES) {
      const which = describeFeatures(unknown);
      const answer = `it demands features that this server does not know (${which}): upgrade this server`;
      return { reason: 'unknown features', answer };
    }
    if (hello.clusterId !== this.#own.clusterId)
      return { reason: 'another cluster', answer: 'this server is of another cluster: check --cluster-id' };
    if (hello.to !== this.#own.id)
      return { reason: 'another server was meant', answer: 'another server was meant: check --cluster' };
    return undefined;
  }

  #examine(state: Ungreeted, { hello, greeting }: NonNullable<Ungreeted['challenged']>, frame: Uint8Array): void {
    const { incarnation, ownProofs, yourProof } = decodeProof(frame);
    const { knownBy } = this.#own.secrets();
    const knowsUs = knownBy.some((secret) => proves([yourProof], secret, 'dialer', greeting, incarnation));
    state.candidate = {
      hello,
      incarnation,
      knowsUs,
      proves: (secret) => proves(ownProofs, secret, 'dialer', greeting, incarnation),
    };
    this.#conclude(state);
  }

  #conclude(state: Ungreeted): void {
    const { connection, candidate, challenged } = state;
    if (candidate === undefined || challenged === undefined) return;
    const { hello } = challenged;
    const verdict = this.#own.admission(candidate);
    switch (verdict.type) {
      case 'waits':
        this.#events.waits(hello.from);
        return;
      case 'refused':
        this.#dismiss(state);
        this.#refuse(connection, hello, verdict);
        return;
      case 'admitted': {
        this.#dismiss(state);
        const { standing, incarnation } = verdict;
        if (this.#isTwofold(hello, incarnation)) {
          const problem = `server ${hello.from} is connected from another data directory: two use that --id; stop the one that is not it`;
          this.#turnAway(connection, 'another data directory', problem, problem, hello.from);
          return;
        }
        connection.admit();
        const features = commonFeatures(hello.features, PEER_FEATURES);
        connection.send(encodeWelcome(features));
        const watch = hasFeature(features, PeerFeature.keepAlive)
          ? new LinkWatch(connection, this.#own.timing)
          : undefined;
        state.handler = this.#admit({ connection, hello, candidate, incarnation, watch }, standing);
      }
    }
  }

  #isTwofold({ from }: PeerHello, incarnation: string): boolean {
    const heard = this.#heard.get(from)?.incarnation ?? '';
    return heard !== '' && incarnation !== '' && heard !== incarnation;
  }

  #admit(heard: Heard, standing: 'member' | 'non-member'): ConnectionHandler {
    const { connection, hello, candidate } = heard;
    switch (hello.purpose) {
      case 'snapshot':
        return this.#events.snapshot(hello.from, connection);
      case 'expulsion':
        return {
          frame: (bytes) => {
            try {
              const notice = decodeExpulsion(bytes);
              this.#events.expelled({ from: hello.from, notice, knowsUs: candidate.knowsUs });
            } catch (error) {
              if (!(error instanceof MalformedError)) throw error;
            }
            connection.close();
          },
          close: () => {},
        };
      case 'log':
        this.#introduce(heard, standing);
        return {
          frame: (bytes) => {
            if (!isKeepAlive(bytes)) this.#events.frame(hello.from, connection, bytes);
          },
          close: () => {
            if (this.#heard.get(hello.from)?.connection !== connection) return;
            this.#heard.delete(hello.from);
            this.#events.closed(hello.from);
          },
        };
    }
  }

  #introduce(heard: Heard, standing: 'member' | 'non-member'): void {
    const { hello } = heard;
    const older = this.#heard.get(hello.from)?.connection;
    this.#heard.set(hello.from, heard);
    this.#clientAddresses.set(hello.from, hello.clientAddress);
    this.#features.set(hello.from, commonFeatures(hello.features, PEER_FEATURES));
    if (older !== undefined) {
      older.destroy();
      this.#events.closed(hello.from);
    }
    this.#events.accepted(hello.from, hello.peerAddress, standing);
  }

  #refuse(connection: Connection, hello: PeerHello, refusal: Refusal): void {
    this.#turnAway(connection, 'not admitted', refusal.reason, refusal.problem, hello.from);
    if (refusal.expulsion !== undefined && hello.purpose !== 'expulsion') this.#events.expel(hello, refusal);
  }

  /** `reason`: one of few, for the log; `answer`: to the other side. */
  #turnAway(connection: Connection, reason: string, answer: string, problem = answer, from?: ServerId): void {
    this.#refusals.refused(reason, connection.remoteAddress, problem, from === undefined ? {} : { peer: from });
    connection.close(answer);
  }
}
