/** A data directory, or a log in it, that was made for another cluster or another server than the one that wants to use it. */

import type { ServerId } from '../../core/index.ts';

export interface ServerIdentity {
  readonly clusterId: string;
  readonly serverId: ServerId;
}

export class IdentityMismatchError extends Error {
  readonly code = 'IDENTITY_MISMATCH';
  readonly path: string;
  readonly found: ServerIdentity;
  readonly expected: ServerIdentity;

  constructor(path: string, found: ServerIdentity, expected: ServerIdentity) {
    super(
      `${path} belongs to ${describeServer(found)}, but this is ${describeServer(expected)}: start it with the directory ` +
        'that it was created with, or with an empty one if it never ran',
    );
    this.name = 'IdentityMismatchError';
    this.path = path;
    this.found = found;
    this.expected = expected;
  }
}

function describeServer({ clusterId, serverId }: ServerIdentity): string {
  return `server ${serverId} of cluster "${clusterId}"`;
}
