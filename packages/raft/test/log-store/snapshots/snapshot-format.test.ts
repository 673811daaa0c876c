import { crc32 } from 'node:zlib';
import { MalformedError } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { encodeConfiguration, initialConfiguration, logIndex, serverId, term } from '../../../src/core/index.ts';
import {
  MAX_SNAPSHOT_HEADER_BYTES,
  UnsupportedSnapshotError,
  decodeTrailer,
  encodeHeader,
  encodeTrailer,
  headerLength,
} from '../../../src/log-store/snapshots/snapshot-format.ts';

const VERSION_AT = 8;
const FEATURES_AT = 12;
const LENGTH_AT = 16;

function header(at?: number, value = 0): Uint8Array {
  const bytes = encodeHeader({
    chunkBytes: 100,
    clusterId: 'cluster',
    incarnation: 'disk',
    serverId: serverId(1),
    index: logIndex(7),
    term: term(2),
    configuration: encodeConfiguration(initialConfiguration([{ id: serverId(1), peerAddress: 'host:1' }])),
    origin: 'taken',
  });
  if (at !== undefined) new DataView(bytes.buffer).setUint32(at, value, true);
  return bytes;
}

describe('the header of a snapshot', () => {
  it('tells its length', () => {
    expect(headerLength(header())).toBe(header().length);
  });

  it.each([
    ['another format version', header(VERSION_AT, 2)],
    ['features that are unknown', header(FEATURES_AT, 1)],
  ])('of %s is of a later program, and not damaged', (_what, bytes) => {
    expect(() => headerLength(bytes)).toThrow(UnsupportedSnapshotError);
  });

  it.each([0, 59, MAX_SNAPSHOT_HEADER_BYTES + 1])('of %i bytes is malformed', (length) => {
    expect(() => headerLength(header(LENGTH_AT, length))).toThrow(MalformedError);
    expect(() => headerLength(header(LENGTH_AT, length))).toThrow(`its header has ${length} bytes`);
  });
});

describe('the trailer of a snapshot', () => {
  const SEED = 5;
  const CRC_AT = 20;
  const trailer = (change: (view: DataView, bytes: Uint8Array) => void = () => {}): Uint8Array => {
    const bytes = encodeTrailer({ bytes: 1_000, crc: 77 }, SEED);
    change(new DataView(bytes.buffer), bytes);
    return bytes;
  };
  /** As whoever wrote it would have made the checksum. */
  const sealed = (view: DataView, bytes: Uint8Array): void =>
    view.setUint32(CRC_AT, crc32(bytes.subarray(0, CRC_AT), SEED), true);

  it('tells what was written', () => {
    expect(decodeTrailer(trailer(), SEED)).toEqual({ bytes: 1_000, crc: 77 });
  });

  it.each([
    ['with a flipped bit', trailer((view) => view.setUint8(8, view.getUint8(8) ^ 1))],
    ['of another file', encodeTrailer({ bytes: 1_000, crc: 77 }, SEED + 1)],
    [
      'in whose place a chunk stands, though its checksum fits',
      trailer((view, bytes) => {
        view.setUint32(0, 12, true);
        sealed(view, bytes);
      }),
    ],
  ])('%s is none', (_what, bytes) => {
    expect(() => decodeTrailer(bytes, SEED)).toThrow(MalformedError);
    expect(() => decodeTrailer(bytes, SEED)).toThrow('its trailer is not one');
  });

  it('that is cut off is named so', () => {
    expect(() => decodeTrailer(trailer().subarray(0, -1), SEED)).toThrow('it ends before its trailer');
  });
});
