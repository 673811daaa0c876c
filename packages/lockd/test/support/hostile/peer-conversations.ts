/**
 * Hostile conversations for the peer port. Those of strangers are refused at their first frame. An impostor says the hello of a
 * member, and goes on with what no member would say: at most it costs that member its connection, if it knows the incarnation.
 */

import { pack } from '@holdfast/protocol';
import {
  EntryType,
  PEER_PROTOCOL_VERSION,
  decodeHello,
  decodePeerFrame,
  encodeHello,
  logIndex,
  raftItem,
  serverId,
  term,
  type Message,
  type PeerHello,
} from '@holdfast/raft';
import type { Random } from '@holdfast/runtime';
import type { Conversation, Ending } from './conversation.ts';
import { HostileBytes, isMalformed } from './hostile-bytes.ts';

export interface PeerTargets {
  readonly clusterId: string;
  /** The server that is spoken to, and another member. */
  readonly server: number;
  readonly member: number;
  /** Of that member's data directory, for impostors who know it. */
  readonly incarnation: string;
  /** Frames that a client would send. */
  readonly clientFrames: readonly Uint8Array[];
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
    switch (random.integer(4)) {
      case 0:
        return conversation('malformed peer hello', [this.#malformedHello(), ...rest], 'malformed hello');
      case 1:
        return this.#foreignHello(rest);
      case 2:
        return conversation('peer frame before hello', [this.#real(), ...rest], 'malformed hello');
      default:
        return conversation(
          'client at the peer port',
          [this.#bytes.pick(this.#targets.clientFrames)],
          'malformed hello',
        );
    }
  }

  impostor(): Conversation {
    const frames = [encodeHello(this.#hello()), this.#malformed()];
    return { kind: 'impostor', steps: frames, messages: frames.length, ending: { type: 'closed' } };
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
        return conversation('peer of another cluster', [encodeHello({ ...hello, clusterId }), ...rest], 'cluster "');
      }
      case 2: {
        const to = serverId(this.#bytes.pick([0, this.#targets.member, 99, Number.MAX_SAFE_INTEGER]));
        return conversation('peer that means another', [encodeHello({ ...hello, to }), ...rest], 'was meant');
      }
      default: {
        const from = serverId(this.#bytes.pick([0, this.#targets.server, 99, Number.MAX_SAFE_INTEGER]));
        return conversation('peer that is no member', [encodeHello({ ...hello, from }), ...rest], 'is no member');
      }
    }
  }

  #hello(): PeerHello {
    const { clusterId, server, member } = this.#targets;
    const incarnation = this.#bytes.pick(['', '00112233445566778899aabbccddeeff', this.#targets.incarnation]);
    return {
      version: PEER_PROTOCOL_VERSION,
      features: 0,
      clusterId,
      from: serverId(member),
      to: serverId(server),
      incarnation,
      clientAddress: '',
      required: 0,
      peerAddress: this.#bytes.pick(['', '127.0.0.1:1']),
      configurationIndex: 0,
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
    return pack(messages.slice(random.integer(3)).map(raftItem));
  }
}

function conversation(kind: string, steps: readonly Uint8Array[], reason: string): Conversation {
  const ending: Ending = { type: 'closed', reason };
  return { kind, steps, messages: steps.length, ending };
}
