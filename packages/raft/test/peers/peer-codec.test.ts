import { MalformedError, pack } from '@holdfast/protocol';
import { valuesOf } from '@holdfast/protocol/test/arbitrary-of';
import fc, { type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryType, logIndex, serverId, term, type Entry, type Message } from '../../src/core/index.ts';
import {
  decodeChallenge,
  decodeExpulsion,
  decodeHello,
  decodeProof,
  encodeChallenge,
  encodeExpulsion,
  encodeHello,
  encodeProof,
  expulsionNotice,
  peerChallenge,
  peerHello,
  peerProof,
} from '../../src/peers/greeting-codec.ts';
import { decodePeerFrame, knockItem, machineItem, raftItem } from '../../src/peers/peer-codec.ts';

const MAX = Number.MAX_SAFE_INTEGER;
const integer = fc.oneof(fc.constantFrom(0, 1, 127, 128, 65_536, 2 ** 32, MAX - 1, MAX), fc.nat({ max: MAX }));
const aTerm = integer.map(term);
const index = integer.map(logIndex);
const flag = fc.boolean();

const append: Arbitrary<Message> = fc
  .record({
    prevIndex: fc.nat({ max: MAX - 10 }),
    prevTerm: aTerm,
    term: aTerm,
    commit: index,
    data: fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 }),
  })
  .map(({ prevIndex, data, ...fields }) => ({
    type: 'append' as const,
    ...fields,
    prevIndex: logIndex(prevIndex),
    entries: data.map((bytes, n): Entry => ({
      index: logIndex(prevIndex + 1 + n),
      term: term(1 + n),
      type: EntryType.command,
      data: bytes,
    })),
  }));

function of(type: Message['type'], fields: Readonly<Record<string, Arbitrary<number | boolean>>>): Arbitrary<Message> {
  return fc.record(fields).map((values) => ({ type, ...values }) as unknown as Message);
}

const message: Arbitrary<Message> = fc.oneof(
  append,
  of('pre-vote', { term: aTerm, lastIndex: index, lastTerm: aTerm }),
  of('pre-vote-response', { term: aTerm, askedTerm: aTerm, granted: flag }),
  of('vote', { term: aTerm, lastIndex: index, lastTerm: aTerm, transfer: flag }),
  of('vote-response', { term: aTerm, granted: flag }),
  of('append-response', {
    term: aTerm,
    accepted: flag,
    index,
    hintTerm: aTerm,
    refusedIndex: index,
    eagerCommit: flag,
  }),
  of('heartbeat', { term: aTerm, commit: index, round: integer }),
  of('heartbeat-response', { term: aTerm, round: integer, eagerCommit: flag }),
  of('commit', { term: aTerm, commit: index }),
  of('timeout-now', { term: aTerm }),
);

const hello = valuesOf(peerHello);
const challenge = valuesOf(peerChallenge);
const proof = valuesOf(peerProof);
const notice = valuesOf(expulsionNotice);

const frame = fc
  .array(fc.oneof(message.map(raftItem), fc.uint8Array({ maxLength: 30 }).map(machineItem)), { maxLength: 4 })
  .map(pack);

const greetings = fc.oneof(
  hello.map(encodeHello),
  challenge.map(encodeChallenge),
  proof.map(encodeProof),
  notice.map(encodeExpulsion),
);

/** Whether it is refused; anything but a MalformedError is thrown on. */
function refused(decode: (bytes: Uint8Array) => unknown, bytes: Uint8Array): boolean {
  try {
    decode(bytes);
    return false;
  } catch (error) {
    if (error instanceof MalformedError) return true;
    throw error;
  }
}

describe('what servers say to each other', () => {
  it('arrives as it was sent', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), (messages) => {
        const items = decodePeerFrame(pack(messages.map(raftItem)));
        expect(items).toEqual(messages.map((each) => ({ type: 'raft', message: each })));
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(hello, (each) => {
        expect(decodeHello(encodeHello(each))).toEqual(each);
      }),
    );
    fc.assert(
      fc.property(challenge, proof, notice, fc.nat().map(serverId), (asked, shown, expelled, server) => {
        expect(decodeChallenge(encodeChallenge(asked))).toEqual(asked);
        expect(decodeProof(encodeProof(shown))).toEqual(shown);
        expect(decodeExpulsion(encodeExpulsion(expelled))).toEqual(expelled);
        expect(decodePeerFrame(pack([knockItem(server)]))).toEqual([{ type: 'knock', server }]);
      }),
    );
  });

  it('is refused with a MalformedError when it ends too early', () => {
    fc.assert(
      fc.property(fc.oneof(frame, hello.map(encodeHello)), fc.nat(), (bytes, at) => {
        const cut = bytes.subarray(0, at % bytes.length);
        expect([refused(decodePeerFrame, cut), refused(decodeHello, cut)]).toEqual([true, true]);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused with a MalformedError, or is a message, when some bytes of it are others', () => {
    const change = fc.tuple(fc.nat(), fc.oneof(fc.nat({ max: 255 }), fc.integer({ min: 0x80, max: 0xe0 })));
    fc.assert(
      fc.property(fc.oneof(frame, greetings), fc.array(change, { minLength: 1, maxLength: 4 }), (bytes, changes) => {
        const changed = Uint8Array.from(bytes);
        for (const [at, value] of changes) changed[at % changed.length] = value;
        for (const decode of [decodePeerFrame, decodeHello, decodeChallenge, decodeProof, decodeExpulsion])
          refused(decode, changed);
      }),
      { numRuns: 3_000 },
    );
  });

  it('stays within the byte bound of its greeting', () => {
    fc.assert(
      fc.property(hello, challenge, proof, notice, (said, asked, shown, expelled) => {
        expect(encodeHello(said).length).toBeLessThanOrEqual(peerHello.size(said));
        expect(encodeChallenge(asked).length).toBeLessThanOrEqual(peerChallenge.size(asked));
        expect(encodeProof(shown).length).toBeLessThanOrEqual(peerProof.size(shown));
        expect(encodeExpulsion(expelled).length).toBeLessThanOrEqual(expulsionNotice.size(expelled));
      }),
    );
  });

  it.each([
    ['nine proofs', decodeProof, ['', Array.from({ length: 9 }, () => new Uint8Array(32)), new Uint8Array(0)]],
    ['a proof of 31 bytes', decodeProof, ['', [new Uint8Array(31)], new Uint8Array(0)]],
    ['a proof of one byte for the receiver', decodeProof, ['', [], new Uint8Array(1)]],
    ['a nonce of 31 bytes', decodeChallenge, [new Uint8Array(31), [], new Uint8Array(0), true]],
    ['three sets of voters', decodeExpulsion, [0, [[1], [2], [3]]]],
    ['32 voters in a set', decodeExpulsion, [0, [Array.from({ length: 32 }, (_, n) => n)]]],
    ['an unknown reason', decodeExpulsion, [2, []]],
  ])('is refused when it has %s', (_, decode, tuple) => {
    expect(() => decode(pack(tuple))).toThrow(MalformedError);
  });

  it('is refused when it appends entries behind the last index that there can be', () => {
    const entries = [{ index: logIndex(1), term: term(1), type: EntryType.command, data: new Uint8Array(3) }];
    const last = { prevIndex: logIndex(MAX), prevTerm: term(1), term: term(1), commit: logIndex(0) };
    const bytes = pack([raftItem({ type: 'append', ...last, entries })]);
    expect(() => decodePeerFrame(bytes)).toThrow(MalformedError);
  });
});
