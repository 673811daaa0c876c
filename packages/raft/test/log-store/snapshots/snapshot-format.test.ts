import { MalformedError } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { encodeConfiguration, initialConfiguration, logIndex, serverId, term } from '../../../src/core/index.ts';
import {
  MAX_SNAPSHOT_HEADER_BYTES,
  UnsupportedSnapshotError,
  encodeHeader,
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
