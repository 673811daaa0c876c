/** What requests and answers are made of, as JSON Schema has it. */

import {
  DEFAULT_LIST_LIMIT,
  MAX_BATCH_WRITES,
  MAX_BUCKET_NAME_LENGTH,
  MAX_LIST_LIMIT,
  MAX_LOCK_NAME_LENGTH,
  MAX_TTL_MS,
  MIN_TTL_MS,
} from '../../limits.ts';

export type Described = Readonly<Record<string, unknown>>;

export const TEXT: Described = { type: 'string' };
export const INTEGER: Described = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
export const TOKENS: Described = { enum: ['required', 'optional'] };
export const LOCK_OR_NONE: Described = { type: ['string', 'null'] };
export const KEY_NAME: Described = { type: 'string', minLength: 1 };
export const BUCKET_NAME: Described = {
  type: 'string',
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  maxLength: MAX_BUCKET_NAME_LENGTH,
};
export const OCTETS: Described = { 'application/octet-stream': {} };

const TOKEN: Described = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const PRINTED: Described = { type: 'string', pattern: '^[0-9]{1,16}$' };
const TTL_MS: Described = { type: 'integer', minimum: MIN_TTL_MS, maximum: MAX_TTL_MS };
const LOCK_NAME: Described = { type: 'string', minLength: 1, maxLength: MAX_LOCK_NAME_LENGTH };
const IF_REVISION: Described = { type: ['integer', 'null'], minimum: 1 };
const WRITE_OPTIONS: Described = { ifRevision: IF_REVISION, ttlMs: TTL_MS };

/** An object with these properties, all of which it must have but for those of `optional`. */
function object(properties: Described, optional: Described = {}): Described {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
    additionalProperties: false,
  };
}

/** Where clients of a group go; null: it is not known. */
export const PRIMARY: Described = {
  ...object({ replica: TEXT, url: { type: ['string', 'null'] } }),
  type: ['object', 'null'],
};

export function json(schema: Described): Described {
  return { 'application/json': { schema } };
}

export const SCHEMAS = {
  bucketKind: { ...object({}, { tokens: TOKENS, lock: LOCK_NAME }), minProperties: 1 },
  bucketMade: object({ bucket: BUCKET_NAME, tokens: TOKENS, lock: LOCK_OR_NONE }),
  bucketInfo: object({
    bucket: BUCKET_NAME,
    tokens: TOKENS,
    lock: LOCK_OR_NONE,
    highest: INTEGER,
    revision: INTEGER,
    keys: INTEGER,
    bytes: INTEGER,
  }),
  claim: object({ token: { oneOf: [TOKEN, PRINTED] } }, { floor: { oneOf: [INTEGER, PRINTED] } }),
  installed: object({ highest: INTEGER, previous: INTEGER }),
  page: object({
    bucket: BUCKET_NAME,
    keys: {
      type: 'array',
      maxItems: MAX_LIST_LIMIT,
      items: object({ key: KEY_NAME, revision: INTEGER, bytes: INTEGER }, { expiresInMs: TTL_MS }),
    },
    next: { type: ['string', 'null'] },
  }),
  writes: object({
    writes: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_BATCH_WRITES,
      items: {
        oneOf: [
          object({ op: { const: 'put' }, key: KEY_NAME, value: TEXT }, WRITE_OPTIONS),
          object({ op: { const: 'put' }, key: KEY_NAME, valueBase64: TEXT }, WRITE_OPTIONS),
          object({ op: { const: 'delete' }, key: KEY_NAME }, { ifRevision: IF_REVISION }),
        ],
      },
    },
  }),
  written: object({ revision: INTEGER }),
  health: object(
    { status: { const: 'ok' } },
    {
      group: TEXT,
      replica: TEXT,
      role: { enum: ['replica', 'claiming', 'primary'] },
      serving: { type: 'boolean' },
      epoch: INTEGER,
      primary: PRIMARY,
      inSync: { type: 'array', items: TEXT },
      lastIndex: INTEGER,
      committedIndex: INTEGER,
      copying: { type: 'boolean' },
    },
  ),
} as const satisfies Readonly<Record<string, Described>>;

const inPath = (name: string, schema: Described): Described => ({ name, in: 'path', required: true, schema });
const inQuery = (name: string, description: string, schema: Described): Described => {
  return { name, in: 'query', description, schema };
};
const inHead = (name: string, description: string, schema: Described = TEXT): Described => {
  return { name, in: 'header', description, schema };
};

export const PARAMETERS = {
  bucket: inPath('bucket', BUCKET_NAME),
  key: inPath('key', KEY_NAME),
  token: inHead('Fencing-Token', "The lock's token.", PRINTED),
  floor: inHead('Fencing-Floor', 'The lowest token under which the lock is held. Left out: the token.', PRINTED),
  ifMatch: inHead('If-Match', 'Revisions as entity tags, or "*".'),
  ifNoneMatch: inHead('If-None-Match', 'The same; "*": the key must be absent.'),
  ttlMs: inQuery('ttlMs', 'After so many milliseconds the key is absent.', TTL_MS),
  prefix: inQuery('prefix', 'Only keys that begin with it.', TEXT),
  after: inQuery('after', 'Only keys behind this one: `next` of the page before.', KEY_NAME),
  limit: inQuery('limit', 'Keys of the page.', {
    type: 'integer',
    minimum: 1,
    maximum: MAX_LIST_LIMIT,
    default: DEFAULT_LIST_LIMIT,
  }),
  from: inQuery('from', 'The revision after which to begin; what is to come where it is left out.', INTEGER),
  epoch: inHead('Group-Epoch', 'Of a replica: the latest epoch that the client was answered under.', PRINTED),
  lastEventId: inHead('Last-Event-ID', 'The last revision that the client has seen; wins over `from`.', PRINTED),
} as const satisfies Readonly<Record<string, Described>>;

const head = (description: string, schema: Described): Described => ({ description, schema });

export const HEADERS = {
  tag: head('The revision, in quotes.', { type: 'string', pattern: '^"[0-9]{1,16}"$' }),
  epoch: head('Of a replica: the epoch under which it has answered.', PRINTED),
  expires: head('What is left of its time to live; absent: for ever.', PRINTED),
} as const satisfies Readonly<Record<string, Described>>;
