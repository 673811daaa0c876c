/**
 * What exists from which state version on: commands, kinds of locks, features that servers offer to clients, limits. Whatever an entry
 * asks for that its state version lacks is answered as by a program that has never heard of it. So all servers of one ensemble give
 * one answer, whichever versions of the program they run.
 *
 * Whoever adds to the state machine says here since when it exists, and raises LATEST_STATE_VERSION.
 */

import {
  ClientFeature,
  CommandType,
  CreateMode,
  MAX_PATH_LENGTH,
  unite,
  type CommandName,
  type FeatureSet,
} from '@holdfast/protocol';

import { STATE_LIMITS, type StateLimits } from './limits.ts';
import type { LockKind } from './locks/kinds/lock-kind.ts';
import { LOCK_KINDS } from './locks/kinds/lock-kinds.ts';
import { SNAPSHOT_FEATURES, type SnapshotFeature } from './snapshot/features.ts';
import { FIRST_STATE_VERSION, LATEST_STATE_VERSION } from './state-version.ts';

interface OrderOfChecks {
  /** A path with U+0000 is refused before its parent is looked for. */
  readonly nulIsCheckedFirst: boolean;
  /** A transaction that takes several waits and holds away grants when all of them are gone. */
  readonly grantsComeLast: boolean;
}

export interface Versions {
  /** By which entries are applied until one raises it. */
  readonly first: number;
  /** The highest by which the program can apply entries. */
  readonly latest: number;
  readonly commands: Readonly<Record<CommandName, number>>;
  readonly createModes: Readonly<Record<keyof typeof CreateMode, number>>;
  /** Each says itself since when it exists. */
  readonly lockKinds: readonly LockKind[];
  /** What servers offer to clients. */
  readonly clientFeatures: Readonly<Record<keyof typeof ClientFeature, number>>;
  /** Of what the order of checks of later versions differs in. */
  readonly checks: Readonly<Record<keyof OrderOfChecks, number>>;
  /** What snapshots may have beyond their format. */
  readonly snapshotFeatures: readonly SnapshotFeature[];
  /** Limits decide results: a later version may have others. In order of their versions. */
  readonly limits: readonly { readonly since: number; readonly limits: Partial<StateLimits> }[];
}

export const VERSIONS: Versions = {
  first: FIRST_STATE_VERSION,
  latest: LATEST_STATE_VERSION,
  commands: {
    attach: FIRST_STATE_VERSION,
    closeSession: FIRST_STATE_VERSION,
    create: FIRST_STATE_VERSION,
    set: FIRST_STATE_VERSION,
    delete: FIRST_STATE_VERSION,
    acquire: FIRST_STATE_VERSION,
    release: FIRST_STATE_VERSION,
    cancel: FIRST_STATE_VERSION,
    transaction: 3,
    createNode: 3,
    setNode: 3,
    downgrade: 4,
    acquireSeveral: 4,
    revoke: 4,
    acquireWith: 5,
    requestRelease: 5,
    expireSession: FIRST_STATE_VERSION,
    refuse: FIRST_STATE_VERSION,
    raiseStateVersion: FIRST_STATE_VERSION,
    continueEnd: FIRST_STATE_VERSION,
    removeUnused: 3,
    endLockDelay: 5,
    enforceRelease: 5,
  },
  createModes: {
    persistent: FIRST_STATE_VERSION,
    ephemeral: FIRST_STATE_VERSION,
    persistentSequential: FIRST_STATE_VERSION,
    ephemeralSequential: FIRST_STATE_VERSION,
    container: 3,
    persistentTtl: 3,
    persistentSequentialTtl: 3,
  },
  lockKinds: LOCK_KINDS,
  clientFeatures: {
    leave: FIRST_STATE_VERSION,
    admin: FIRST_STATE_VERSION,
    members: FIRST_STATE_VERSION,
    outage: FIRST_STATE_VERSION,
    pages: FIRST_STATE_VERSION,
    watches: FIRST_STATE_VERSION,
    floors: FIRST_STATE_VERSION,
    deadlocks: FIRST_STATE_VERSION,
  },
  checks: { nulIsCheckedFirst: 3, grantsComeLast: 4 },
  snapshotFeatures: SNAPSHOT_FEATURES,
  limits: [
    { since: FIRST_STATE_VERSION, limits: STATE_LIMITS },
    { since: 3, limits: { maxPathLength: MAX_PATH_LENGTH } },
  ],
};

/** The table at one version, by numbers, since every entry asks it. */
export interface Rules extends OrderOfChecks {
  readonly version: number;
  /** By a command's number: true for those that exist. */
  readonly commands: readonly (boolean | undefined)[];
  /** By a mode's number: true for those that exist. */
  readonly createModes: readonly (boolean | undefined)[];
  /** By a kind's number. */
  readonly lockKinds: readonly (LockKind | undefined)[];
  readonly clientFeatures: FeatureSet;
  readonly limits: StateLimits;
}

/** @param overrides limits that take the places of every version's */
export function rulesAt(version: number, versions: Versions, overrides: Partial<StateLimits>): Rules {
  const lockKinds: LockKind[] = [];
  for (const kind of versions.lockKinds) if (kind.since <= version) lockKinds[kind.number] = kind;
  const limits = versions.limits.filter(({ since }) => since <= version).map((each) => each.limits);
  return {
    version,
    commands: flags(existing(CommandType, versions.commands, version)),
    createModes: flags(existing(CreateMode, versions.createModes, version)),
    lockKinds,
    clientFeatures: unite(existing(ClientFeature, versions.clientFeatures, version)),
    nulIsCheckedFirst: versions.checks.nulIsCheckedFirst <= version,
    grantsComeLast: versions.checks.grantsComeLast <= version,
    limits: Object.assign({}, STATE_LIMITS, ...limits, overrides) as StateLimits,
  };
}

type Numbers = Readonly<Record<string, number>>;

/** Those of the named numbers that exist since that version or an earlier one. */
function existing(numbers: Numbers, since: Numbers, version: number): Numbers {
  return Object.fromEntries(Object.entries(numbers).filter(([name]) => (since[name] ?? Infinity) <= version));
}

function flags(numbers: Numbers): boolean[] {
  const set: boolean[] = [];
  for (const number of Object.values(numbers)) set[number] = true;
  return set;
}
