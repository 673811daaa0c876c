/**
 * The bytes of one log entry: a fixed header, then the client's payload verbatim. The server that received the request encodes
 * it once; the leader only sets the stamp. docs/formats.md has the table.
 *
 *    0  u8   format version        24  f64  ackedUpTo
 *    1  u8   command type          32  f64  stamp, milliseconds since the Unix epoch
 *    2  u16  group                 40  u32  length of the identities that follow the header (none yet)
 *    4  u32  generation            44  u32  via
 *    8  f64  session               48  identities, payload
 *   16  f64  request number
 *
 * Little-endian. `via` is the server whose client asked: what the leader knows of the connection that the entry came by, never what the
 * entry says. For `attach`, session and generation are 0 and the request number is a correlation number of that server, by which it
 * finds the connection to answer; for what the leader proposes by itself session and number are 0.
 */

import { MalformedError } from '@holdfast/protocol';

export const ENTRY_FORMAT_VERSION = 1;
export const ENTRY_HEADER_BYTES = 48;
const COMMAND_OFFSET = 1;
const STAMP_OFFSET = 32;
const IDENTITIES_OFFSET = 40;
const VIA_OFFSET = 44;

const SLAB_BYTES = 8 * 1024;

/**
 * New entries lie in slabs, one behind the other: an array of its own for each would be outside of V8's heap, which costs more than all
 * the rest. They go about in the order in which they came, and so do slabs.
 */
let slab = new Uint8Array(SLAB_BYTES);
let slabView = new DataView(slab.buffer);
let slabEnd = 0;

/** Where headers are taken apart, and stamps put together: a view for each entry would cost more than the copy. */
const decoded = new Uint8Array(ENTRY_HEADER_BYTES);
const decodedView = new DataView(decoded.buffer);
const stamp = new Uint8Array(8);
const stampView = new DataView(stamp.buffer);

export interface EntryHeader {
  readonly command: number;
  readonly generation: number;
  readonly session: number;
  readonly number: number;
  readonly ackedUpTo: number;
}

export interface StampedHeader extends EntryHeader {
  readonly version: number;
  readonly group: number;
  readonly stamp: number;
  /** The server whose client asked; 0 in what was not yet proposed. */
  readonly via: number;
}

/** The entry may share its memory with others. */
export function encodeEntry(fields: EntryHeader, payload: Uint8Array): Uint8Array {
  const length = ENTRY_HEADER_BYTES + payload.length;
  if (slabEnd + length > slab.length) {
    slab = new Uint8Array(Math.max(SLAB_BYTES, length));
    slabView = new DataView(slab.buffer);
    slabEnd = 0;
  }
  const start = slabEnd;
  slabEnd += length;
  slabView.setUint8(start, ENTRY_FORMAT_VERSION);
  slabView.setUint8(start + COMMAND_OFFSET, fields.command);
  slabView.setUint32(start + 4, fields.generation, true);
  slabView.setFloat64(start + 8, fields.session, true);
  slabView.setFloat64(start + 16, fields.number, true);
  slabView.setFloat64(start + 24, fields.ackedUpTo, true);
  slab.set(payload, start + ENTRY_HEADER_BYTES);
  return new Uint8Array(slab.buffer, start, length);
}

/** Sets the leader's wall clock, and the server whose client asked, in an entry that is not yet in the log. */
export function stampEntry(entry: Uint8Array, wallMs: number, via: number): void {
  stampView.setFloat64(0, Math.floor(wallMs), true);
  entry.set(stamp, STAMP_OFFSET);
  for (let byte = 0; byte < 4; byte += 1) entry[VIA_OFFSET + byte] = via >>> (8 * byte);
}

/** The command type of an entry alone, without the cost of its header; 0, which no command has, where there is none. */
export function entryCommand(entry: Uint8Array): number {
  return entry[COMMAND_OFFSET] ?? 0;
}

/** @throws MalformedError for bytes that no version of this program has written. */
export function decodeEntryHeader(entry: Uint8Array): StampedHeader {
  checkWhole(entry);
  // Behind the check, every byte is there.
  for (let offset = 0; offset < ENTRY_HEADER_BYTES; offset += 1) decoded[offset] = entry[offset] ?? 0;
  return {
    version: decodedView.getUint8(0),
    command: decodedView.getUint8(COMMAND_OFFSET),
    group: decodedView.getUint16(2, true),
    generation: decodedView.getUint32(4, true),
    session: decodedView.getFloat64(8, true),
    number: decodedView.getFloat64(16, true),
    ackedUpTo: decodedView.getFloat64(24, true),
    stamp: decodedView.getFloat64(STAMP_OFFSET, true),
    via: decodedView.getUint32(VIA_OFFSET, true),
  };
}

/** A view of the payload. @throws MalformedError */
export function entryPayload(entry: Uint8Array): Uint8Array {
  return entry.subarray(payloadStart(entry));
}

/** Where the payload begins; it ends with the entry. A view of it would cost more than decoding it. @throws MalformedError */
export function payloadStart(entry: Uint8Array): number {
  checkWhole(entry);
  const start = ENTRY_HEADER_BYTES + lengthAt(entry, IDENTITIES_OFFSET);
  if (start > entry.length) throw new MalformedError('an entry ends within its identities');
  return start;
}

/** Why this version cannot apply an entry with that header, whatever its command; undefined when it can. */
export function headerProblem({ version, group }: StampedHeader): string | undefined {
  if (version !== ENTRY_FORMAT_VERSION) return `has format version ${version}, not ${ENTRY_FORMAT_VERSION}`;
  return group === 0 ? undefined : `belongs to group ${group}`;
}

/** As {@link headerProblem}, for bytes that may be anything: what has one must not get into the log. */
export function entryProblem(entry: Uint8Array): string | undefined {
  try {
    payloadStart(entry);
    return headerProblem(decodeEntryHeader(entry));
  } catch (error) {
    return `is malformed (${(error as Error).message})`;
  }
}

/** A u32, little-endian; the last byte by multiplication, since a shift would make it the sign. */
function lengthAt(entry: Uint8Array, offset: number): number {
  const low = (entry[offset] ?? 0) | ((entry[offset + 1] ?? 0) << 8) | ((entry[offset + 2] ?? 0) << 16);
  return low + (entry[offset + 3] ?? 0) * 0x1_00_00_00;
}

function checkWhole(entry: Uint8Array): void {
  if (entry.length < ENTRY_HEADER_BYTES) throw new MalformedError(`an entry of ${entry.length} bytes has no header`);
}
