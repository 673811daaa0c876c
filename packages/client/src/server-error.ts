/** From the codes of the protocol to the errors of the SDK. */

import type { ErrorCode } from '@holdfast/protocol';
import {
  BadVersionError,
  ConnectionError,
  HoldfastError,
  InvalidArgumentError,
  LimitExceededError,
  NodeExistsError,
  NotEmptyError,
  NotFoundError,
  OverloadedError,
  SessionExpiredError,
  UnauthorizedError,
} from './errors.ts';

/** The error that a server's answer stands for. */
export function errorFromServer(code: ErrorCode, message: string): HoldfastError {
  switch (code) {
    case 'NOT_FOUND':
      return new NotFoundError(message, { code });
    case 'NODE_EXISTS':
      return new NodeExistsError(message, { code });
    case 'BAD_VERSION':
      return new BadVersionError(message, { code });
    case 'NOT_EMPTY':
      return new NotEmptyError(message, { code });
    case 'EPHEMERAL_PARENT':
    case 'INVALID_ARGUMENT':
    case 'RESERVED_PATH':
      return new InvalidArgumentError(message, { code });
    case 'LIMIT_EXCEEDED':
      return new LimitExceededError(message);
    case 'OVERLOADED':
      return new OverloadedError(message);
    case 'DISK_FULL':
      return new OverloadedError(message, { code });
    case 'UNAUTHORIZED':
      return new UnauthorizedError(message, { code });
    case 'SESSION_EXPIRED':
      return new SessionExpiredError(message);
    case 'NO_LEADER':
    case 'LEADER_CHANGED':
    case 'NOT_CAUGHT_UP':
    case 'SHUTTING_DOWN':
    case 'SESSION_MOVED':
    case 'VERSION_MISMATCH':
    case 'WRONG_CLUSTER':
      return new ConnectionError(message, { code });
    case 'LOCK_HELD':
    case 'DEADLOCK':
    case 'NOT_HELD':
    case 'OUT_OF_ORDER':
    case 'TRANSFER_REFUSED':
    case 'MEMBERSHIP_REFUSED':
    case 'MEMBER_EXISTS':
    case 'MALFORMED':
    case 'UNSUPPORTED':
      return new HoldfastError(message, { code });
  }
}
