/**
 * A configuration as bytes: the data of a configuration entry, and a field of snapshots. Little-endian: version (u8), count of members
 * (u16), the members by ascending id, count of retired ids (u16), these (f64 each), count of former members (u16), these. A member: id
 * (f64), role (u8), outgoing (u8), and the texts peer address, client address, incarnation and join secret, each as a length (u16) and
 * UTF-16 units. A former member: id (f64), and the texts peer address and incarnation. Decoding checks every field.
 */

import {
  MAX_FORMER_MEMBERS,
  MAX_MEMBERS,
  MAX_RETIRED_IDS,
  isJoint,
  type Configuration,
  type ConfiguredMember,
  type FormerMember,
  type MemberRole,
} from './configuration.ts';
import type { ServerId } from '../types.ts';

const CONFIGURATION_VERSION = 2;
export const MAX_CONFIGURATION_TEXT_LENGTH = 300;

const ROLES = ['voter', 'learner', 'observer', 'leaving'] as const satisfies readonly MemberRole[];
/** id, role, outgoing and four lengths. */
const MEMBER_BYTES = 18;
/** id and two lengths. */
const FORMER_BYTES = 12;

export class MalformedConfigurationError extends Error {
  constructor(problem: string) {
    super(`the configuration ${problem}`);
    this.name = 'MalformedConfigurationError';
  }
}

export function encodeConfiguration({ members, retired, former }: Configuration): Uint8Array {
  let length = 7 + 8 * retired.length;
  for (const { peerAddress, clientAddress, incarnation, joinSecret } of members) {
    length += MEMBER_BYTES + 2 * (peerAddress.length + clientAddress.length + incarnation.length + joinSecret.length);
  }
  for (const { peerAddress, incarnation } of former) {
    length += FORMER_BYTES + 2 * (peerAddress.length + incarnation.length);
  }
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let position = 0;
  const u8 = (value: number): void => {
    view.setUint8(position, value);
    position += 1;
  };
  const u16 = (value: number): void => {
    view.setUint16(position, value, true);
    position += 2;
  };
  const f64 = (value: number): void => {
    view.setFloat64(position, value, true);
    position += 8;
  };
  const text = (value: string): void => {
    u16(value.length);
    for (let unit = 0; unit < value.length; unit += 1) u16(value.charCodeAt(unit));
  };
  u8(CONFIGURATION_VERSION);
  u16(members.length);
  for (const { id, role, outgoing, peerAddress, clientAddress, incarnation, joinSecret } of members) {
    f64(id);
    u8(ROLES.indexOf(role));
    u8(outgoing ? 1 : 0);
    for (const value of [peerAddress, clientAddress, incarnation, joinSecret]) text(value);
  }
  u16(retired.length);
  for (const id of retired) f64(id);
  u16(former.length);
  for (const { id, peerAddress, incarnation } of former) {
    f64(id);
    text(peerAddress);
    text(incarnation);
  }
  return bytes;
}

/** @throws MalformedConfigurationError */
export function decodeConfiguration(bytes: Uint8Array): Configuration {
  const reader = new Reader(bytes);
  const version = reader.u8();
  if (version !== CONFIGURATION_VERSION) throw new MalformedConfigurationError(`has the unknown version ${version}`);
  const members: ConfiguredMember[] = [];
  for (let count = reader.count('members', MAX_MEMBERS); count > 0; count -= 1) members.push(reader.member());
  const retired: ServerId[] = [];
  for (let count = reader.count('retired ids', MAX_RETIRED_IDS); count > 0; count -= 1) retired.push(reader.id());
  const former: FormerMember[] = [];
  for (let count = reader.count('former members', MAX_FORMER_MEMBERS); count > 0; count -= 1)
    former.push(reader.former());
  reader.end();
  checkAscending(members.map(({ id }) => id));
  checkAscending(retired);
  const gone = new Set(retired);
  if (members.some(({ id }) => gone.has(id))) throw new MalformedConfigurationError('has a retired member');
  if (former.some(({ id }) => !gone.has(id)))
    throw new MalformedConfigurationError('has a former member that is not retired');
  const configuration = { members, retired, former };
  const leaving = members.some(({ role }) => role === 'leaving');
  if (leaving && !isJoint(configuration)) throw new MalformedConfigurationError('has leaving members and is not joint');
  return configuration;
}

function checkAscending(ids: readonly ServerId[]): void {
  for (const [position, id] of ids.entries()) {
    if (id <= (ids[position - 1] ?? 0)) throw new MalformedConfigurationError('has ids that do not ascend');
  }
}

class Reader {
  readonly #view: DataView;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  id(): ServerId {
    const value = this.#view.getFloat64(this.#take(8), true);
    if (!Number.isSafeInteger(value) || value < 1) throw new MalformedConfigurationError(`has the id ${value}`);
    return value as ServerId;
  }

  count(what: string, max: number): number {
    const value = this.#u16();
    if (value > max) throw new MalformedConfigurationError(`has ${value} ${what}, over ${max}`);
    return value;
  }

  member(): ConfiguredMember {
    const id = this.id();
    const role = ROLES[this.u8()];
    const outgoing = this.u8();
    if (role === undefined) throw new MalformedConfigurationError(`has a member ${id} of an unknown role`);
    if (outgoing > 1) throw new MalformedConfigurationError(`has a member ${id} with the flags ${outgoing}`);
    if (role === 'leaving' && outgoing === 0) {
      throw new MalformedConfigurationError(`has a member ${id} that leaves and was no voter`);
    }
    const peerAddress = this.#text();
    const clientAddress = this.#text();
    const incarnation = this.#text();
    return { id, role, outgoing: outgoing === 1, peerAddress, clientAddress, incarnation, joinSecret: this.#text() };
  }

  former(): FormerMember {
    const id = this.id();
    const peerAddress = this.#text();
    return { id, peerAddress, incarnation: this.#text() };
  }

  end(): void {
    const rest = this.#view.byteLength - this.#position;
    if (rest > 0) throw new MalformedConfigurationError(`has ${rest} bytes behind its end`);
  }

  #u16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  #text(): string {
    const length = this.count('characters in a text', MAX_CONFIGURATION_TEXT_LENGTH);
    let text = '';
    for (let unit = 0; unit < length; unit += 1) text += String.fromCharCode(this.#u16());
    return text;
  }

  #take(bytes: number): number {
    const at = this.#position;
    if (at + bytes > this.#view.byteLength) throw new MalformedConfigurationError('ends too early');
    this.#position += bytes;
    return at;
  }
}
