/** A kind of lock that no program has: whoever asks for it shared holds it beside others who did, and at most so many. */

import { MalformedError, type LockRequest } from '@holdfast/protocol';
import { flag, integer, record } from '@holdfast/protocol/schema';
import { LATEST_STATE_VERSION } from '@holdfast/state';

import type { LockKind } from '../../src/locks/kinds/lock-kind.ts';
import { VERSIONS, type Versions } from '../../src/versions.ts';

const parameters = record({ shared: flag(), most: integer() });

interface SharedRequest {
  readonly type: 'shared';
  readonly shared: boolean;
  readonly most: number;
}

export const SHARED = 200;

const shared: LockKind<SharedRequest> = {
  name: 'shared',
  number: SHARED,
  since: LATEST_STATE_VERSION,
  plain: undefined,
  read: (reader) => {
    const request = parameters.readTuple(reader);
    if (request.most < 1) throw new MalformedError('nobody may hold it');
    return { type: 'shared', ...request };
  },
  write: (request) => parameters.writeTuple(request),
  mayJoin: (holders, request) =>
    holders.size === 0 ||
    (request.shared && holders.size < request.most && [...holders].every((holder) => holder.request.shared)),
  isShared: ({ shared }) => shared,
  weight: () => 1,
  problem: () => undefined,
  disagreement: () => undefined,
  downgraded: () => undefined,
  lastRead: undefined,
};

/** The product's, and that kind from the latest version on. */
export const VERSIONS_WITH_SHARED: Versions = {
  ...VERSIONS,
  lockKinds: [...VERSIONS.lockKinds, shared as unknown as LockKind<LockRequest>],
};
