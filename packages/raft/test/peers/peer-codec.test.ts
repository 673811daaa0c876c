import { MAX_INDEX, MalformedError, pack } from '@holdfast/protocol';
import { valuesOf } from '@holdfast/protocol/test/arbitrary-of';
import fc, { type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryType, logIndex, term, type Entry, type MessageOf } from '../../src/core/index.ts';
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
import { decodePeerFrame, peerItem, peerItems, type PeerItem } from '../../src/peers/peer-codec.ts';

const entry = fc.record({
  term: fc.integer({ min: 1, max: MAX_INDEX }).map(term),
  data: fc.uint8Array({ maxLength: 40 }),
});
const generated: Arbitrary<PeerItem> = valuesOf(peerItems, { 'entry block': fc.array(entry, { maxLength: 4 }) });
/** Entries have their places behind that of the append. */
const item = generated
  .filter((each) => each.type !== 'append' || each.prevIndex <= MAX_INDEX - each.entries.length)
  .map((each) => (each.type === 'append' ? { ...each, entries: placed(each) } : each));

function placed({ prevIndex, entries }: MessageOf<'append'>): readonly Entry[] {
  return entries.map(({ term: entryTerm, data }, n) => {
    return { index: logIndex(prevIndex + 1 + n), term: entryTerm, type: EntryType.command, data };
  });
}

const hello = valuesOf(peerHello);
const challenge = valuesOf(peerChallenge);
const proof = valuesOf(peerProof);
const notice = valuesOf(expulsionNotice);

const frame = fc.array(item, { maxLength: 4 }).map((items) => pack(items.map(peerItem)));

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
      fc.property(fc.array(item, { maxLength: 4 }), (items) => {
        // Not a Buffer, whose views are Buffers.
        expect(decodePeerFrame(Uint8Array.from(pack(items.map(peerItem))))).toEqual(items);
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(hello, (each) => {
        expect(decodeHello(encodeHello(each))).toEqual(each);
      }),
    );
    fc.assert(
      fc.property(challenge, proof, notice, (asked, shown, expelled) => {
        expect(decodeChallenge(encodeChallenge(asked))).toEqual(asked);
        expect(decodeProof(encodeProof(shown))).toEqual(shown);
        expect(decodeExpulsion(encodeExpulsion(expelled))).toEqual(expelled);
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

  it('stays within the byte bound of its item', () => {
    const property = fc.property(item, (each) => {
      expect(pack(peerItem(each)).length).toBeLessThanOrEqual(peerItems.size(each));
    });
    fc.assert(property, { numRuns: 300 });
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
    const last = { prevIndex: logIndex(MAX_INDEX), prevTerm: term(1), term: term(1), commit: logIndex(0) };
    const bytes = pack([peerItem({ type: 'append', ...last, entries })]);
    expect(() => decodePeerFrame(bytes)).toThrow(MalformedError);
  });

  it('is refused when it appends a configuration that cannot be read, or is an item of an unknown type', () => {
    const entries = [{ index: logIndex(2), term: term(1), type: EntryType.configuration, data: new Uint8Array([9]) }];
    const place = { prevIndex: logIndex(1), prevTerm: term(1), term: term(1), commit: logIndex(0) };
    expect(() => decodePeerFrame(pack([peerItem({ type: 'append', ...place, entries })]))).toThrow(MalformedError);
    expect(() => decodePeerFrame(pack([[12, 1]]))).toThrow('item type 12 is unknown');
  });
});
