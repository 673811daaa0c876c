/** The HTTP interface as an OpenAPI 3.1 document. A test holds it against the server. */

import { errorResponses, errorSchemas } from './errors.ts';
import type { ErrorCode } from './errors.ts';
import { HEADERS, json, OCTETS, PARAMETERS, SCHEMAS, TEXT } from './schemas.ts';
import type { Described } from './schemas.ts';

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly parameters?: readonly Described[];
  /** Content by media type. */
  readonly body?: Described;
  readonly answers: Readonly<Record<string, Described & { readonly headers?: Described }>>;
  readonly errors?: readonly ErrorCode[];
}

const { bucket, epoch, key, token, floor, ifMatch, ifNoneMatch } = PARAMETERS;
const HOLDER = [token, floor];
const CONDITIONS = [ifMatch, ifNoneMatch];
/** Of a token that is judged, and perhaps confirmed at the ensemble. */
const CLAIM_ERRORS: readonly ErrorCode[] = [
  'STALE_TOKEN',
  'TOKEN_JUMP_REFUSED',
  'TOKEN_NOT_GRANTED',
  'FLOOR_TOO_HIGH',
  'BUCKET_NOT_BOUND',
  'ENSEMBLE_UNREACHABLE',
  'LIMIT_EXCEEDED',
];
const WRITE_ERRORS: readonly ErrorCode[] = [...CLAIM_ERRORS, 'TOKEN_REQUIRED', 'PRECONDITION_FAILED'];
const READ_ERRORS: readonly ErrorCode[] = ['STALE_TOKEN', 'TOKEN_NOT_INSTALLED', 'BUCKET_NOT_FOUND', 'LIMIT_EXCEEDED'];
const TAGGED = { headers: { ETag: HEADERS.tag } };
const TAGGED_AND_TIMED = { headers: { ETag: HEADERS.tag, 'Expires-In-Ms': HEADERS.expires } };

export const OPENAPI_DOCUMENT: Described = {
  openapi: '3.1.0',
  info: {
    title: 'fenced-kv',
    version: '1',
    description: 'A key-value store that refuses writes with a stale fencing token.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  paths: {
    '/health': {
      get: operation({
        id: 'health',
        summary: 'Whether it serves',
        answers: { '200': { description: 'It does.', content: json(SCHEMAS.health) } },
      }),
    },
    '/metrics': {
      get: operation({
        id: 'metrics',
        summary: 'Metrics for Prometheus',
        answers: { '200': { description: 'At most a second old.', content: { 'text/plain': { schema: TEXT } } } },
      }),
    },
    '/openapi.json': {
      get: operation({
        id: 'openapi',
        summary: 'This document',
        answers: { '200': { description: 'OpenAPI 3.1.', content: json({ type: 'object' }) } },
      }),
    },
    '/v1/buckets/{bucket}': { parameters: [bucket, epoch], get: bucketInfo(), put: makeBucket() },
    '/v1/buckets/{bucket}/fence': { parameters: [bucket, epoch], post: install() },
    '/v1/buckets/{bucket}/batch': { parameters: [bucket, epoch], post: batch() },
    '/v1/buckets/{bucket}/changes': { parameters: [bucket, epoch], get: changes() },
    '/v1/buckets/{bucket}/keys': { parameters: [bucket, epoch], get: listKeys() },
    '/v1/buckets/{bucket}/keys/{key}': {
      parameters: [bucket, key, epoch],
      get: readKey(),
      put: writeKey(),
      delete: deleteKey(),
    },
  },
  components: { schemas: errorSchemas() },
};

function operation({ id, summary, parameters = [], body, answers, errors = [] }: Operation): Described {
  const requestBody = body === undefined ? {} : { requestBody: { required: true, content: body } };
  const answered = Object.entries(answers).map(([status, answer]): [string, Described] => [status, ofReplica(answer)]);
  const responses = { ...Object.fromEntries(answered), ...errorResponses(errors) };
  return { operationId: id, summary, parameters, ...requestBody, responses };
}

/** With what a replica adds to its answers. */
function ofReplica(answer: Described & { readonly headers?: Described }): Described {
  return { ...answer, headers: { ...answer.headers, 'Group-Epoch': HEADERS.epoch } };
}

function bucketInfo(): Described {
  return operation({
    id: 'bucketInfo',
    summary: 'What a bucket is and has',
    parameters: HOLDER,
    answers: { '200': { description: 'The bucket.', content: json(SCHEMAS.bucketInfo) } },
    errors: READ_ERRORS,
  });
}

function makeBucket(): Described {
  return operation({
    id: 'makeBucket',
    summary: 'Make a bucket that the first write would make otherwise',
    body: json(SCHEMAS.bucketKind),
    answers: {
      '200': { description: 'It exists so.', content: json(SCHEMAS.bucketMade) },
      '201': { description: 'It was made.', content: json(SCHEMAS.bucketMade) },
    },
    errors: ['BUCKET_EXISTS', 'LIMIT_EXCEEDED', 'UNSUPPORTED_MEDIA_TYPE'],
  });
}

function install(): Described {
  return operation({
    id: 'install',
    summary: "Install a holder's floor before it reads",
    body: json(SCHEMAS.claim),
    answers: { '200': { description: 'It is installed.', content: json(SCHEMAS.installed) } },
    errors: [...CLAIM_ERRORS, 'UNSUPPORTED_MEDIA_TYPE'],
  });
}

function batch(): Described {
  return operation({
    id: 'batch',
    summary: 'Several writes, all or none',
    parameters: HOLDER,
    body: json(SCHEMAS.writes),
    answers: { '200': { description: 'All are durable.', ...TAGGED, content: json(SCHEMAS.written) } },
    errors: [...WRITE_ERRORS, 'UNSUPPORTED_MEDIA_TYPE'],
  });
}

function changes(): Described {
  return operation({
    id: 'changes',
    summary: 'What writes change, as server-sent events',
    parameters: [...HOLDER, PARAMETERS.from, PARAMETERS.lastEventId],
    answers: {
      '200': { description: 'Events whose ids are revisions.', content: { 'text/event-stream': { schema: TEXT } } },
    },
    errors: [...READ_ERRORS, 'MISSED'],
  });
}

function listKeys(): Described {
  return operation({
    id: 'listKeys',
    summary: "A page of a bucket's keys, in the order of their bytes",
    parameters: [...HOLDER, PARAMETERS.prefix, PARAMETERS.after, PARAMETERS.limit],
    answers: { '200': { description: 'The page.', content: json(SCHEMAS.page) } },
    errors: READ_ERRORS,
  });
}

function readKey(): Described {
  return operation({
    id: 'readKey',
    summary: 'The value of a key',
    parameters: [...HOLDER, ...CONDITIONS],
    answers: {
      '200': { description: 'The value.', ...TAGGED_AND_TIMED, content: OCTETS },
      '304': { description: 'It is at a revision that the client has.', ...TAGGED_AND_TIMED },
    },
    errors: [...READ_ERRORS, 'KEY_NOT_FOUND', 'PRECONDITION_FAILED'],
  });
}

function writeKey(): Described {
  return operation({
    id: 'writeKey',
    summary: 'Write a value',
    parameters: [...HOLDER, ...CONDITIONS, PARAMETERS.ttlMs],
    body: OCTETS,
    answers: { '204': { description: 'It is durable.', ...TAGGED } },
    errors: [...WRITE_ERRORS, 'UNSUPPORTED_MEDIA_TYPE'],
  });
}

function deleteKey(): Described {
  return operation({
    id: 'deleteKey',
    summary: 'Delete a key, if it is there',
    parameters: [...HOLDER, ...CONDITIONS],
    answers: { '204': { description: 'It is absent, durably.' } },
    errors: WRITE_ERRORS,
  });
}
