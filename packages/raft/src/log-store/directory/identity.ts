/**
 * The content of identity.json: whose a data directory is, which servers its cluster began with (none when it joins one), and what
 * a program must know to read what is there.
 */

import { NO_FEATURES, describeFeatures, missingFeatures, type FeatureSet } from '@holdfast/protocol';
import type { Address } from '@holdfast/runtime';
import { serverId, type ServerId } from '../../core/index.ts';
import { DataDirectoryError } from '../errors/data-directory-error.ts';
import { DISK_FEATURES } from '../files/disk-features.ts';
import type { LogIdentity } from '../format/frame.ts';

const IDENTITY_FORMAT_VERSION = 1;
/** Of one that demands features: programs that know only the first version would not look for demands. */
const DEMANDING_FORMAT_VERSION = 2;

export interface InitialMember {
  readonly id: ServerId;
  /** Where its peers reach it. */
  readonly peerAddress: Address;
}

export interface Identity extends LogIdentity {
  /** What is used in the directory, and a program must know to read it. */
  readonly required: FeatureSet;
  /** Empty: it joins, and its members are those of the log that it is sent. */
  readonly members: readonly InitialMember[];
}

export function encodeIdentity({ required, ...identity }: Identity): Uint8Array {
  const content =
    required === NO_FEATURES
      ? { formatVersion: IDENTITY_FORMAT_VERSION, ...identity }
      : { formatVersion: DEMANDING_FORMAT_VERSION, required, ...identity };
  return new TextEncoder().encode(`${JSON.stringify(content, undefined, 2)}\n`);
}

/** @throws DataDirectoryError */
export function decodeIdentity(bytes: Uint8Array, file: string): Identity {
  const damaged = (what: string, options?: ErrorOptions) =>
    new DataDirectoryError('DAMAGED_IDENTITY', file, `${file} is damaged: ${what}. Restore it from a copy`, options);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw damaged('it is not JSON', { cause: error });
  }
  if (!isObject(value)) throw damaged('it is not an object');
  const { formatVersion, clusterId, serverId: id, incarnation, members } = value;
  if (!isCount(formatVersion)) throw damaged('it has no formatVersion');
  if (formatVersion > DEMANDING_FORMAT_VERSION) {
    throw new DataDirectoryError(
      'UNSUPPORTED_FORMAT',
      file,
      `${file} has format version ${formatVersion}, and this program reads up to version ${DEMANDING_FORMAT_VERSION}: start the version of the program that wrote it, or a later one`,
    );
  }
  const required = value['required'] ?? NO_FEATURES;
  if (typeof required !== 'number' || !Number.isSafeInteger(required) || required < 0)
    throw damaged('its required is no set of features');
  const unknown = missingFeatures(required, DISK_FEATURES);
  if (unknown !== NO_FEATURES) {
    throw new DataDirectoryError(
      'UNSUPPORTED_FORMAT',
      file,
      `${file} demands features that this program does not know (${describeFeatures(unknown)}): start the version of the program that wrote it, or a later one`,
    );
  }
  if (typeof clusterId !== 'string' || clusterId === '') throw damaged('it has no clusterId');
  if (!isCount(id)) throw damaged('it has no serverId');
  if (typeof incarnation !== 'string' || !/^[0-9a-f]{32}$/.test(incarnation)) throw damaged('it has no incarnation');
  if (!Array.isArray(members)) throw damaged('it has no members');
  return {
    required,
    clusterId,
    serverId: serverId(id),
    incarnation,
    members: members.map((member: unknown) => {
      if (!isObject(member) || !isCount(member['id']) || typeof member['peerAddress'] !== 'string') {
        throw damaged('a member has no id or no peerAddress');
      }
      return { id: serverId(member['id']), peerAddress: member['peerAddress'] };
    }),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
