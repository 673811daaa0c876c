/** What servers can do beyond their protocol version; see the protocol's features. docs/formats.md has the bits. */

import { unite, type FeatureSet } from '@holdfast/protocol';

/** A bit never changes its meaning. */
export const PeerFeature = {
  /** Takes requests of operators that another server forwards, and sends the answers back. */
  admin: 2 ** 0,
  /** Takes connections whose purpose is a snapshot. */
  snapshot: 2 ** 1,
  /** Takes configuration entries. */
  membership: 2 ** 2,
  /** Applies entries by version 2 of the replicated machine's rules. */
  stateVersion2: 2 ** 4,
  /** Says something on connections for the log that it hears, too, and several times in an election timeout on every one. */
  keepAlive: 2 ** 5,
  /** Applies entries by version 3 of those rules. */
  stateVersion3: 2 ** 6,
  /** Applies entries by version 4 of those rules. */
  stateVersion4: 2 ** 7,
  /** Applies entries by version 5 of those rules. */
  stateVersion5: 2 ** 8,
} as const;

/** What a server of this version offers to its peers. */
export const PEER_FEATURES: FeatureSet = unite(PeerFeature);
