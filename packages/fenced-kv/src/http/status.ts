/** Which status an answer has, by the code of its refusal or failure. */

import type { EngineErrorCode } from '../engines/engine-error.ts';
import type { RefusalCode } from '../refusal.ts';

/** None is one that generic clients repeat (decision 33). */
export const REFUSAL_STATUS = {
  STALE_TOKEN: 412,
  TOKEN_JUMP_REFUSED: 409,
  TOKEN_NOT_GRANTED: 409,
  FLOOR_TOO_HIGH: 409,
  BUCKET_NOT_BOUND: 409,
  TOKEN_REQUIRED: 428,
  TOKEN_NOT_INSTALLED: 428,
  PRECONDITION_FAILED: 412,
  MISSED: 410,
  BUCKET_NOT_FOUND: 404,
  KEY_NOT_FOUND: 404,
  BUCKET_EXISTS: 409,
  INVALID_ARGUMENT: 400,
  LIMIT_EXCEEDED: 413,
} as const satisfies Record<RefusalCode, number>;

export const ENGINE_STATUS = {
  DISK_ERROR: 503,
  DAMAGED_DATA: 500,
  OVERLOADED: 503,
  CLOSED: 503,
} as const satisfies Record<EngineErrorCode, number>;
