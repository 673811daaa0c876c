/** What a stranger says in the name of a member: as a member would, of a term that no member reaches by itself. */

import { crc32 } from 'node:zlib';
import { pack, type Packable } from '@holdfast/protocol';
import {
  EntryType,
  encodeConfiguration,
  encodeExpulsion,
  encodeSnapshotMessage,
  initialConfiguration,
  logIndex,
  peerItem,
  serverId,
  term,
  type Message,
  type PeerHello,
} from '@holdfast/raft';
import type { Random } from '@holdfast/runtime';
import type { Ports } from './ports.ts';

type Purpose = PeerHello['purpose'];

/** A server of a term from here on has believed a stranger. */
export const FORGED_TERM = 2 ** 40;
/** docs/formats.md: two messages of lockd's machine. */
const HALTED = 9;
const FORWARD = 1;

/** Frames for a connection of that purpose. */
export function forgeries(purpose: Purpose, as: number, random: Random, ports: Ports): readonly Uint8Array[] {
  switch (purpose) {
    case 'log':
      return [pack(messages(random).map(peerItem)), pack([machineItem()])];
    case 'snapshot':
      return snapshot(as, random, ports);
    case 'expulsion':
      return [forgedExpulsion(as, random)];
  }
}

function forgedExpulsion(as: number, random: Random): Uint8Array {
  const expulsion = random.integer(2) === 0 ? 'MEMBER_REMOVED' : 'WRONG_INCARNATION';
  return encodeExpulsion({ expulsion, voterSets: [[serverId(as)]] });
}

function messages(random: Random): Message[] {
  const common = { term: term(FORGED_TERM + random.integer(1_000)), commit: logIndex(random.integer(1_000)) };
  const index = random.integer(1_000);
  const entry = { index: logIndex(index + 1), term: common.term, type: EntryType.command, data: random.bytes(20) };
  const all: Message[] = [
    { type: 'heartbeat', ...common, round: 1 },
    { type: 'append', ...common, prevIndex: logIndex(index), prevTerm: term(1), entries: [entry] },
    { type: 'vote', term: common.term, lastIndex: logIndex(2 ** 40), lastTerm: common.term, transfer: true },
    { type: 'commit', ...common },
    { type: 'timeout-now', term: common.term },
  ];
  return all.slice(random.integer(all.length));
}

function machineItem(): Packable {
  const payload = pack([
    [HALTED, 1],
    [FORWARD, 1, [new Uint8Array(8)]],
  ]);
  return peerItem({ type: 'machine', payload });
}

function snapshot(as: number, random: Random, { peerAddress }: Ports): readonly Uint8Array[] {
  const state = random.bytes(100);
  const configuration = encodeConfiguration(initialConfiguration([{ id: serverId(as), peerAddress: peerAddress(as) }]));
  const forged = term(FORGED_TERM);
  const index = logIndex(2 ** 40);
  const position = { leaderTerm: forged, logBase: index, index, term: forged };
  const offer = { type: 'offer', ...position, bytes: state.length, crc: crc32(state), configuration } as const;
  return [offer, { type: 'chunk', offset: 0, data: state } as const, { type: 'end' } as const].map(
    encodeSnapshotMessage,
  );
}
