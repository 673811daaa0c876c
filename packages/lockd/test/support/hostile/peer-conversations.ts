/**
 * Hostile conversations for the peer port. Whoever cannot prove that it belongs to the ensemble hears a challenge at most, whatever it goes
 * on with: forged proofs, appends, forwards, snapshots, news of an expulsion.
 */

import { crc32 } from 'node:zlib';
import { pack } from '@holdfast/protocol';
import {
  DialledGreeting,
  EntryType,
  NONCE_BYTES,
  PEER_PROTOCOL_VERSION,
  decodeHello,
  decodePeerFrame,
  encodeConfiguration,
  encodeHello,
  encodeProof,
  encodeSnapshotMessage,
  initialConfiguration,
  logIndex,
  peerItem,
  serverId,
  term,
  type Message,
  type PeerHello,
  type SnapshotMessage,
} from '@holdfast/raft';
import type { Random } from '@holdfast/runtime';
import type { Conversation, Ending } from './conversation.ts';
import { forgedMachineFrame } from './forged-messages.ts';
import { HostileBytes, isMalformed } from './hostile-bytes.ts';

export interface PeerTargets {
  readonly clusterId: string;
  /** The server that is spoken to, and another member. */
  readonly server: number;
  readonly member: number;
  /** Frames that a client would send. */
  readonly clientFrames: readonly Uint8Array[];
  /** That somebody else uses. */
  readonly lock: string;
}

export class PeerConversations {
  readonly #targets: PeerTargets;
  readonly #bytes: HostileBytes;

  constructor(targets: PeerTargets, random: Random) {
    this.#targets = targets;
    this.#bytes = new HostileBytes(random);
  }

  stranger(): Conversation {
    const { random } = this.#bytes;
    const rest = Array.from({ length: random.integer(3) }, () => this.#real());
    switch (random.integer(10)) {
      case 8:
        return this.#forward();
      case 9:
        return this.forwardingImpostor();
      case 7:
        return this.#snapshotOfStranger();
      case 4:
      case 5:
        return this.impostor();
      case 6:
        return conversation(
          'peer that speaks before its proof',
          [encodeHello(this.#hello()), this.#real()],
          'malformed',
          1,
        );
      case 0:
        // Some look like one of another version.
        return conversation('malformed peer hello', [this.#malformedHello(), ...rest], '');
      case 1:
        return this.#foreignHello(rest);
      case 2:
        return conversation('peer frame before hello', [this.#real(), ...rest], 'malformed hello');
      case 3:
        return this.#snapshotOfStranger();
      default:
        return conversation(
          'client at the peer port',
          [this.#bytes.pick(this.#targets.clientFrames)],
          'malformed hello',
        );
    }
  }

  impostor(): Conversation {
    const hello = this.#hello();
    const purpose = this.#bytes.pick(['log', 'snapshot', 'expulsion'] as const);
    const frames = [encodeHello({ ...hello, purpose }), this.#forgedProof(), this.#real(), this.#malformed()];
    return conversation(`impostor for purpose ${purpose}`, frames, 'NOT_ADMITTED', 1);
  }

  /** As the member at which other clients are attached: their requests, and what else lockds tell each other. */
  forwardingImpostor(): Conversation {
    const frames = [encodeHello({ ...this.#hello(), purpose: 'log' }), this.#forgedProof(), ...this.#forged()];
    return conversation('impostor that forwards', frames, 'NOT_ADMITTED', 1);
  }

  /** Says the same before it was asked for a proof, or instead of one. */
  #forward(): Conversation {
    if (this.#bytes.chance(0.5))
      return conversation('stranger that forwards before its hello', this.#forged(), 'malformed hello');
    const frames = [encodeHello(this.#hello()), ...this.#forged()];
    return conversation('stranger that forwards', frames, 'malformed', 1);
  }

  #forged(): readonly Uint8Array[] {
    const count = 1 + this.#bytes.random.integer(4);
    return Array.from({ length: count }, () => forgedMachineFrame(this.#bytes, this.#targets.lock));
  }

  #forgedProof(): Uint8Array {
    const { random } = this.#bytes;
    const proofs = Array.from({ length: random.integer(4) }, () => random.bytes(32));
    const incarnation = this.#bytes.pick(['', '00112233445566778899aabbccddeeff']);
    return encodeProof({ incarnation, ownProofs: proofs, yourProof: random.bytes(32) });
  }

  /** As a member that leads: a snapshot that is whole, far ahead, with a configuration of its own, of bytes that are no state. */
  forgedSnapshot(index: number, state: Uint8Array): readonly Uint8Array[] {
    return this.#snapshot(this.#targets.member, index, state);
  }

  #snapshotOfStranger(): Conversation {
    const from = this.#bytes.pick([0, this.#targets.server, 99, Number.MAX_SAFE_INTEGER]);
    const hello = { ...this.#hello(), from: serverId(from), purpose: 'snapshot' as const };
    const snapshot = this.#snapshot(this.#targets.member, 1 + this.#bytes.random.integer(2 ** 40), this.#bytes.noise());
    const frames = [encodeHello(hello), this.#forgedProof(), ...snapshot];
    return conversation('snapshot of a stranger', frames, 'NOT_ADMITTED', 1);
  }

  #snapshot(member: number, index: number, state: Uint8Array): readonly Uint8Array[] {
    const configuration = encodeConfiguration(
      initialConfiguration([{ id: serverId(member), peerAddress: '127.0.0.1:1' }]),
    );
    const position = { leaderTerm: term(90), logBase: logIndex(index), index: logIndex(index), term: term(90) };
    const offer = { type: 'offer', ...position, bytes: state.length, crc: crc32(state), configuration } as const;
    const messages: SnapshotMessage[] = [offer, { type: 'chunk', offset: 0, data: state }, { type: 'end' }];
    return messages.map(encodeSnapshotMessage);
  }

  /** How that member introduces itself, by the incarnation that only it and the ensemble know. */
  greetingOfMember(incarnation: string, purpose: 'log' | 'snapshot'): DialledGreeting {
    return new DialledGreeting({
      hello: { ...this.#hello(), purpose },
      nonce: this.#bytes.random.bytes(NONCE_BYTES),
      incarnation,
      secrets: { provenBy: [incarnation], knownBy: [incarnation] },
      peer: { secret: '', member: true },
    });
  }

  #foreignHello(rest: readonly Uint8Array[]): Conversation {
    const hello = this.#hello();
    switch (this.#bytes.random.integer(4)) {
      case 0: {
        const version = PEER_PROTOCOL_VERSION + 1 + this.#bytes.random.integer(1_000);
        return conversation('peer of another version', [encodeHello({ ...hello, version }), ...rest], 'peer protocol');
      }
      case 1: {
        const clusterId = this.#bytes.pick(['', 'other', '__proto__', 'x'.repeat(300)]);
        return conversation(
          'peer of another cluster',
          [encodeHello({ ...hello, clusterId }), ...rest],
          'another cluster',
        );
      }
      case 2: {
        const to = serverId(this.#bytes.pick([0, this.#targets.member, 99, Number.MAX_SAFE_INTEGER]));
        return conversation('peer that means another', [encodeHello({ ...hello, to }), ...rest], 'was meant');
      }
      default: {
        const from = serverId(this.#bytes.pick([0, this.#targets.server, 99, Number.MAX_SAFE_INTEGER]));
        const frames = [encodeHello({ ...hello, from }), this.#forgedProof(), ...rest];
        return conversation('peer that is no member', frames, 'NOT_ADMITTED', 1);
      }
    }
  }

  #hello(): PeerHello {
    const { clusterId, server, member } = this.#targets;
    return {
      version: PEER_PROTOCOL_VERSION,
      features: 0,
      clusterId,
      from: serverId(member),
      to: serverId(server),
      clientAddress: this.#bytes.pick(['', '127.0.0.1:1']),
      purpose: 'log',
      required: 0,
      peerAddress: this.#bytes.pick(['', '127.0.0.1:1']),
      nonce: this.#bytes.random.bytes(NONCE_BYTES),
      echo: new Uint8Array(0),
    };
  }

  #malformedHello(): Uint8Array {
    return this.#refusedBy(decodeHello, () => encodeHello(this.#hello()));
  }

  #malformed(): Uint8Array {
    return this.#refusedBy(decodePeerFrame, () => this.#real());
  }

  #refusedBy(decode: (bytes: Uint8Array) => unknown, real: () => Uint8Array): Uint8Array {
    for (;;) {
      const kind = this.#bytes.random.integer(4);
      const bytes =
        kind === 0
          ? this.#bytes.noise()
          : kind === 1
            ? this.#bytes.tuple(this.#bytes.random.integer(12))
            : this.#bytes.spoilt(kind === 2 ? this.#bytes.value() : real());
      if (isMalformed(() => decode(bytes))) return bytes;
    }
  }

  /** A frame as members send it. */
  #real(): Uint8Array {
    const { random } = this.#bytes;
    const common = { term: term(1 + random.integer(5)), commit: logIndex(random.integer(100)) };
    const entries = [
      { index: logIndex(8), term: common.term, type: EntryType.command, data: this.#bytes.noise() },
      { index: logIndex(9), term: common.term, type: EntryType.command, data: this.#bytes.noise() },
    ];
    const messages: Message[] = [
      { type: 'append', ...common, prevIndex: logIndex(7), prevTerm: term(1), entries },
      { type: 'heartbeat', ...common, round: this.#bytes.index() },
      { type: 'vote', ...common, lastIndex: logIndex(7), lastTerm: term(1), transfer: true },
    ];
    return pack(messages.slice(random.integer(3)).map(peerItem));
  }
}

/** `frames`: how many it hears. */
function conversation(kind: string, steps: readonly Uint8Array[], reason: string, frames = 0): Conversation {
  const ending: Ending = { type: 'closed', reason, frames };
  return { kind, steps, messages: steps.length, ending };
}
