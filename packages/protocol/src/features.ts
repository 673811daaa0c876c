/**
 * What one side can do beyond its protocol version, as sets of bits. A side offers what it knows and names what it demands of the
 * other; what both offer may be used. Unknown offers are ignored, an unknown demand is refused. docs/formats.md has the bits.
 */

import { LOWEST_PROTOCOL_VERSION, PROTOCOL_VERSION } from './limits.ts';

/** Bits 0 to 52 of a number. */
export type FeatureSet = number;

export const NO_FEATURES: FeatureSet = 0;

const HALF = 2 ** 26;

/** Between client and server. A bit never changes its meaning. */
export const ClientFeature = {
  /** The client moves to another server when it is asked to `leave`. */
  leave: 2 ** 0,
  /** The server takes `admin` messages, at least the operation `transfer`. */
  admin: 2 ** 1,
  /** The server takes the admin operations `members` and `change-membership`. */
  members: 2 ** 2,
  /**
   * The server takes a `hello` that needs no leader, an `attach` that gives back, and `members` for what it knows itself.
   */
  outage: 2 ** 3,
  /** The server takes the queries `childrenPage` and `descendants`, and paths of 4,096 units in all of them. */
  pages: 2 ** 4,
  /** The server takes `watch`, with a read or without, and `unwatch`, and tells what is watched. */
  watches: 2 ** 5,
  /** The client hears of its holds: `floor`, and `contended`. */
  floors: 2 ** 6,
  /** The server takes the queries `deadlocks` and `waitingFor`. */
  deadlocks: 2 ** 7,
} as const;

/** What an SDK and a lockd of this version offer to each other. */
export const CLIENT_FEATURES: FeatureSet = unite(ClientFeature);

export function hasFeature(set: FeatureSet, feature: FeatureSet): boolean {
  return feature !== 0 && commonFeatures(set, feature) === feature;
}

/** What both offer. */
export function commonFeatures(a: FeatureSet, b: FeatureSet): FeatureSet {
  return halves(a, b, (left, right) => left & right);
}

/** What `demanded` has and `known` has not. */
export function missingFeatures(demanded: FeatureSet, known: FeatureSet): FeatureSet {
  return halves(demanded, known, (left, right) => left & ~right);
}

export function unite(features: Readonly<Record<string, FeatureSet>>): FeatureSet {
  return Object.values(features).reduce((set, feature) => halves(set, feature, (left, right) => left | right), 0);
}

/** For messages: `bits 3, 40`. */
export function describeFeatures(set: FeatureSet): string {
  const bits: number[] = [];
  for (let bit = 0; bit < 53; bit += 1) if (Math.floor(set / 2 ** bit) % 2 === 1) bits.push(bit);
  return bits.length === 0 ? 'none' : `${bits.length === 1 ? 'bit' : 'bits'} ${bits.join(', ')}`;
}

/** Versions of the protocol, from the lowest to the highest. */
export interface VersionRange {
  readonly lowest: number;
  readonly highest: number;
}

/** The versions of the protocol that this program speaks. */
export const PROTOCOL_VERSIONS: VersionRange = { lowest: LOWEST_PROTOCOL_VERSION, highest: PROTOCOL_VERSION };

/** The highest that both speak; undefined for none. */
export function commonVersion(a: VersionRange, b: VersionRange): number | undefined {
  const highest = Math.min(a.highest, b.highest);
  return highest >= Math.max(a.lowest, b.lowest) ? highest : undefined;
}

export function describeVersions({ lowest, highest }: VersionRange): string {
  return lowest === highest ? `version ${highest}` : `versions ${lowest} to ${highest}`;
}

/** Bitwise operators take 32 bits only. */
function halves(a: FeatureSet, b: FeatureSet, combine: (left: number, right: number) => number): FeatureSet {
  return combine(Math.floor(a / HALF), Math.floor(b / HALF)) * HALF + combine(a % HALF, b % HALF);
}
