/** Answers that are errors, as OpenAPI describes them: each code has a status and fields of its own. */

import { ENGINE_STATUS, REFUSAL_STATUS } from '../status.ts';
import { BUCKET_NAME, HEADERS, INTEGER, KEY_NAME, LOCK_OR_NONE, PRIMARY, TEXT, TOKENS } from './schemas.ts';
import type { Described } from './schemas.ts';

const STATUS = {
  ...REFUSAL_STATUS,
  ...ENGINE_STATUS,
  ENSEMBLE_UNREACHABLE: 503,
  NOT_PRIMARY: 503,
  INTERNAL: 500,
  UNSUPPORTED_MEDIA_TYPE: 415,
  ORIGIN_REFUSED: 403,
  HOST_REFUSED: 403,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** The write may have happened. */
const INDETERMINATE = { indeterminate: { type: 'boolean' } } as const;

const FIELDS: Readonly<Record<ErrorCode, Described>> = {
  STALE_TOKEN: { presented: INTEGER, highest: INTEGER },
  TOKEN_JUMP_REFUSED: { presented: INTEGER, highest: INTEGER, limit: INTEGER },
  TOKEN_NOT_GRANTED: { lock: TEXT, presented: INTEGER, newest: INTEGER },
  FLOOR_TOO_HIGH: { lock: TEXT, presented: INTEGER, lowest: INTEGER },
  BUCKET_NOT_BOUND: { bucket: BUCKET_NAME },
  TOKEN_REQUIRED: { bucket: BUCKET_NAME },
  TOKEN_NOT_INSTALLED: { presented: INTEGER, highest: INTEGER },
  PRECONDITION_FAILED: { key: KEY_NAME, revision: { type: ['integer', 'null'], minimum: 1 } },
  MISSED: { bucket: BUCKET_NAME, from: INTEGER, oldest: INTEGER },
  BUCKET_NOT_FOUND: { bucket: BUCKET_NAME },
  KEY_NOT_FOUND: { bucket: BUCKET_NAME, key: KEY_NAME },
  BUCKET_EXISTS: { bucket: BUCKET_NAME, tokens: TOKENS, lock: LOCK_OR_NONE },
  INVALID_ARGUMENT: { argument: TEXT },
  LIMIT_EXCEEDED: { argument: TEXT, limit: INTEGER },
  DISK_ERROR: INDETERMINATE,
  DAMAGED_DATA: INDETERMINATE,
  OVERLOADED: INDETERMINATE,
  CLOSED: INDETERMINATE,
  ENSEMBLE_UNREACHABLE: INDETERMINATE,
  NOT_PRIMARY: { ...INDETERMINATE, primary: PRIMARY, epoch: INTEGER },
  INTERNAL: INDETERMINATE,
  UNSUPPORTED_MEDIA_TYPE: {},
  ORIGIN_REFUSED: {},
  HOST_REFUSED: {},
};

/** Of every request. */
const ALWAYS: readonly ErrorCode[] = [
  'INVALID_ARGUMENT',
  'ORIGIN_REFUSED',
  'HOST_REFUSED',
  'DISK_ERROR',
  'OVERLOADED',
  'CLOSED',
  'NOT_PRIMARY',
  'DAMAGED_DATA',
  'INTERNAL',
];

const MEANING: Readonly<Record<number, string>> = {
  400: 'The request is not one that the store takes.',
  403: 'From a web page, or to a name that is not of this server.',
  404: 'There is no such bucket or key.',
  409: 'The token, the floor or the bucket is not as the request says.',
  410: 'What came after that revision is not remembered any more.',
  412: 'A newer holder has been here, or a condition does not hold. Do not repeat the request.',
  413: 'Beyond a limit.',
  415: 'The body has another type than the request takes.',
  428: 'The token is missing, or was not installed before the read.',
  500: 'The data is damaged, or the server failed.',
  503: 'Not now; where `indeterminate` is true, the write may have happened.',
};

/** Schemas of all codes, by code. */
export function errorSchemas(): Described {
  return Object.fromEntries(
    Object.entries(FIELDS).map(([code, fields]) => {
      const properties = { code: { const: code }, message: TEXT, ...fields };
      return [code, { type: 'object', required: Object.keys(properties), properties, additionalProperties: false }];
    }),
  );
}

/** The responses of a request that may be refused with these codes, and with those of every request. */
export function errorResponses(codes: readonly ErrorCode[]): Described {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codes, ...ALWAYS]) {
    const known = byStatus.get(STATUS[code]) ?? [];
    byStatus.set(STATUS[code], [...known, code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, all]) => {
      const oneOf = all.map((code) => ({ $ref: `#/components/schemas/${code}` }));
      const retryAfter = { description: 'Seconds, where a repetition may help.', schema: TEXT };
      const again = status === 503 ? { 'Retry-After': retryAfter } : {};
      const headers = { 'Group-Epoch': HEADERS.epoch, ...again };
      const content = { 'application/json': { schema: { oneOf } } };
      return [String(status), { description: MEANING[status] ?? '', headers, content }];
    }),
  );
}
