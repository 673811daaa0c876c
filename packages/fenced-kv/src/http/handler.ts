/**
 * The HTTP interface as a fetch-style handler, so that it runs with and without sockets. It promises that a success is
 * durable, that a refusal wrote nothing, and that an answer of 5xx says whether the write may have happened. It leaves
 * listening to server.ts and what a request means to the store.
 */

import { Hono } from 'hono';
import type { Context } from 'hono';
import { isForeignSite } from '@holdfast/runtime';
import type { Clock, Logger } from '@holdfast/runtime';

import { EngineError } from '../engines/engine-error.ts';
import { FencedStore } from '../fenced-store.ts';
import type { ValueUpload } from '../keys/large-values.ts';
import { answerOf } from './answer-error.ts';
import { BodyReader } from './body-reader.ts';
import { parseBatchBody, parseBucketBody, parseFenceBody } from './body.ts';
import { hostAllowed } from './guard.ts';
import type { HostPolicy } from './guard.ts';
import {
  assertMediaType,
  assertNoBody,
  EPOCH_HEADER,
  parseConditions,
  parseEpoch,
  parseFrom,
  parseHolder,
  parseLimit,
  parsePath,
  parseTtl,
} from './request.ts';
import { streamChanges } from './change-stream.ts';
import { StoreMetrics } from './metrics.ts';
import { OPENAPI_DOCUMENT } from './openapi/document.ts';
import { figuresOf, groupError, healthOf } from './source-facts.ts';
import { NotPrimaryError, onlyStore } from './store-source.ts';
import type { Served, StoreSource } from './store-source.ts';
import { streamValue } from './value-stream.ts';
import { MAX_BATCH_BODY_BYTES, MAX_FOLLOWERS, MAX_JSON_BODY_BYTES } from '../limits.ts';
import { holds } from '../keys/precondition.ts';
import { RefusedError } from '../refusal.ts';

export interface HttpOptions {
  /** Of a replica: what says for each request which store answers. */
  readonly store: FencedStore | StoreSource;
  readonly hosts: HostPolicy;
  /** `GET /metrics` has those of the process, too. @default false */
  readonly processMetrics?: boolean;
}

export interface HttpDependencies {
  readonly logger: Logger;
  /** What answers are timed by. @default the machine's */
  readonly clock?: Pick<Clock, 'monotonicMs'> | undefined;
}

interface RouteDeps {
  readonly bodies: BodyReader;
  readonly logger: Logger;
}

/** `code`: that of an answer which is an error. `served`: what answers, under `/v1`. */
interface Env {
  Variables: { code?: string; served: Served };
}
type App = Hono<Env>;
type RequestContext = Context<Env>;

/** Answers a request; never rejects. */
export type HttpHandler = (request: Request) => Response | Promise<Response>;

const BUCKET = '/v1/buckets/:bucket';
const OCTETS = 'application/octet-stream';
const JSON_TYPE = 'application/json';

export function createHttpHandler(options: HttpOptions, dependencies: HttpDependencies): HttpHandler {
  const source = options.store instanceof FencedStore ? onlyStore(options.store) : options.store;
  const { logger, clock = { monotonicMs: () => performance.now() } } = dependencies;
  const app: App = new Hono<Env>();
  const bodies = new BodyReader();
  const followers = { count: 0 };
  const metrics = new StoreMetrics(
    {
      store: () => figuresOf(source),
      heldBytes: () => bodies.heldBytes,
      followers: () => followers.count,
      group: source.group === undefined ? undefined : () => source.group,
    },
    { ofProcess: options.processMetrics ?? false, clock },
  );
  app.use(async (c, next) => {
    const begunAtMs = clock.monotonicMs();
    await next();
    const { method, path } = c.req;
    const seconds = (clock.monotonicMs() - begunAtMs) / 1_000;
    metrics.answered({ method, path, status: c.res.status, code: c.get('code'), seconds });
  });
  addGuard(app, options.hosts);
  addServed(app, source);
  addKeyRoutes(app, { bodies, logger });
  addBucketRoutes(app, bodies);
  addChangesRoute(app, followers);
  app.get('/metrics', async (c) => {
    const { contentType, body } = await metrics.text();
    return c.body(body, 200, { 'content-type': contentType });
  });
  app.all('/metrics', (c) => methodNotAllowed(c, 'GET'));
  app.get('/openapi.json', (c) => c.json(OPENAPI_DOCUMENT));
  app.all('/openapi.json', (c) => methodNotAllowed(c, 'GET'));
  app.get('/health', (c) => c.json({ status: 'ok', ...healthOf(source) }));
  app.all('/health', (c) => methodNotAllowed(c, 'GET'));
  app.notFound((c) => {
    c.set('code', 'NOT_FOUND');
    return c.json({ code: 'NOT_FOUND', message: `there is nothing at ${new URL(c.req.url).pathname}` }, 404);
  });
  app.onError((error, c) => answerError(groupError(error, source), c, logger));
  return (request) => app.fetch(request);
}

function addGuard(app: App, hosts: HostPolicy): void {
  app.use(async (c, next) => {
    if (c.req.raw.headers.has('origin')) {
      return forbidden(c, 'ORIGIN_REFUSED', 'requests from web pages (with a header Origin) are refused');
    }
    if (isForeignSite(c.req.header('sec-fetch-site'))) {
      return forbidden(c, 'ORIGIN_REFUSED', 'requests from pages of other sites are refused');
    }
    const host = c.req.header('host') ?? new URL(c.req.url).host;
    if (!hostAllowed(hosts, host)) {
      const message = `this server does not answer to the name ${JSON.stringify(host)} in the header Host; use its address`;
      return forbidden(c, 'HOST_REFUSED', message);
    }
    await next();
    return undefined;
  });
}

function forbidden(c: RequestContext, code: string, message: string): Response {
  c.set('code', code);
  return c.json({ code, message }, 403);
}

/** Before any route of a store: which one answers, and, for a read, that nobody has become primary in a higher epoch. */
function addServed(app: App, source: StoreSource): void {
  app.use('/v1/*', async (c, next) => {
    const served = source.present();
    const { epoch, confirm } = served;
    const known = parseEpoch(c.req.raw.headers);
    const { group } = source;
    // A client that has seen a later epoch is not to be answered from an earlier one.
    if (group !== undefined && epoch !== undefined && known > epoch)
      throw new NotPrimaryError({ ...group, primary: null });
    c.set('served', served);
    if (confirm !== undefined && (c.req.method === 'GET' || c.req.method === 'HEAD')) await confirm();
    await next();
    if (epoch !== undefined) c.header(EPOCH_HEADER, String(epoch));
  });
}

function addKeyRoutes(app: App, { bodies, logger }: RouteDeps): void {
  const path = `${BUCKET}/keys/*`;
  app.get(`${BUCKET}/keys`, (c) => {
    const { bucket } = parsePath(c.req.url);
    const { prefix, after, limit } = c.req.query();
    const holder = parseHolder(c.req.raw.headers);
    return c.json({ bucket, ...storeOf(c).list(bucket, { prefix, after, limit: parseLimit(limit), ...holder }) });
  });
  app.all(`${BUCKET}/keys`, (c) => methodNotAllowed(c, 'GET'));
  app.get(path, (c) => {
    const { bucket, key } = parsePath(c.req.url);
    const { headers } = c.req.raw;
    const conditions = parseConditions(headers);
    const found = storeOf(c).open(bucket, key, parseHolder(headers));
    const { revision, value } = found;
    const expires = found.expiresInMs === undefined ? {} : { 'expires-in-ms': String(found.expiresInMs) };
    const etag = { etag: formatTag(revision), ...expires };
    const failed = conditions.find((condition) => !holds(condition, revision));
    if (failed !== undefined) {
      found.close();
      if (failed.kind === 'absent' || failed.kind === 'revision-not-in') return c.body(null, 304, etag);
      throw new RefusedError({ code: 'PRECONDITION_FAILED', key, revision });
    }
    const head = { ...etag, 'content-type': OCTETS };
    if (value instanceof Uint8Array) return c.body(new Uint8Array(value), 200, head);
    const stream = streamValue(value, {
      hold: bodies.hold(),
      failed: (error) => logger.error({ err: error, bucket }, 'a large value could not be read to its end'),
    });
    return c.body(stream, 200, { ...head, 'content-length': String(found.bytes) });
  });
  app.put(path, async (c) => {
    const { bucket, key } = parsePath(c.req.url);
    const { headers } = c.req.raw;
    const holder = parseHolder(headers);
    const conditions = parseConditions(headers);
    assertMediaType(headers, OCTETS);
    const ttlMs = parseTtl(c.req.query('ttlMs'));
    const beginUpload = (): ValueUpload => storeOf(c).upload(bucket, holder);
    return await bodies.withValue(c.req.raw, beginUpload, async (value) => {
      const { revision } = await storeOf(c).write(bucket, [{ key, value, conditions, ttlMs }], holder);
      return c.body(null, 204, { etag: formatTag(revision) });
    });
  });
  app.delete(path, async (c) => {
    const { bucket, key } = parsePath(c.req.url);
    const { headers } = c.req.raw;
    assertNoBody(headers);
    const writes = [{ key, value: undefined, conditions: parseConditions(headers) }];
    await storeOf(c).write(bucket, writes, parseHolder(headers));
    return c.body(null, 204);
  });
  app.all(path, (c) => methodNotAllowed(c, 'GET, PUT, DELETE'));
  app.post(`${BUCKET}/batch`, async (c) => {
    const { bucket } = parsePath(c.req.url);
    const holder = parseHolder(c.req.raw.headers);
    assertMediaType(c.req.raw.headers, JSON_TYPE);
    return await bodies.withBody(c.req.raw, MAX_BATCH_BODY_BYTES, async (body) => {
      const { revision } = await storeOf(c).write(bucket, parseBatchBody(body), holder);
      return c.json({ revision }, 200, { etag: formatTag(revision) });
    });
  });
  app.all(`${BUCKET}/batch`, (c) => methodNotAllowed(c, 'POST'));
}

function addBucketRoutes(app: App, bodies: BodyReader): void {
  app.post(`${BUCKET}/fence`, async (c) => {
    const { bucket } = parsePath(c.req.url);
    assertMediaType(c.req.raw.headers, JSON_TYPE);
    return await bodies.withBody(c.req.raw, MAX_JSON_BODY_BYTES, async (body) => {
      const { token, floor } = parseFenceBody(body);
      return c.json(await storeOf(c).install(bucket, token, floor));
    });
  });
  app.all(`${BUCKET}/fence`, (c) => methodNotAllowed(c, 'POST'));
  app.get(BUCKET, (c) => {
    const { bucket } = parsePath(c.req.url);
    return c.json(storeOf(c).info(bucket, parseHolder(c.req.raw.headers)));
  });
  app.put(BUCKET, async (c) => {
    const { bucket } = parsePath(c.req.url);
    assertMediaType(c.req.raw.headers, JSON_TYPE);
    return await bodies.withBody(c.req.raw, MAX_JSON_BODY_BYTES, async (body) => {
      const { tokens = 'required', lock } = parseBucketBody(body);
      const { created } = await storeOf(c).create(bucket, { tokens, lock });
      return c.json({ bucket, tokens, lock: lock ?? null }, created ? 201 : 200);
    });
  });
  app.all(BUCKET, (c) => methodNotAllowed(c, 'GET, PUT'));
}

function addChangesRoute(app: App, followers: { count: number }): void {
  app.get(`${BUCKET}/changes`, (c) => {
    const { bucket } = parsePath(c.req.url);
    const { headers } = c.req.raw;
    const from = parseFrom(c.req.query('from'), headers.get('last-event-id'));
    if (followers.count >= MAX_FOLLOWERS) {
      throw new EngineError('OVERLOADED', `${MAX_FOLLOWERS} connections follow buckets already; try again later`);
    }
    const followed = storeOf(c).follow(bucket, from, parseHolder(headers));
    followers.count += 1;
    const ended = (): void => {
      followers.count -= 1;
    };
    const stream = streamChanges(followed, { from: followed.from, ended });
    return c.body(stream, 200, { 'content-type': 'text/event-stream' });
  });
  app.all(`${BUCKET}/changes`, (c) => methodNotAllowed(c, 'GET'));
}

function storeOf(c: RequestContext): FencedStore {
  return c.get('served').store;
}

function formatTag(revision: number): string {
  return `"${revision}"`;
}

function methodNotAllowed(c: RequestContext, allow: string): Response {
  c.set('code', 'METHOD_NOT_ALLOWED');
  return c.json({ code: 'METHOD_NOT_ALLOWED', message: `this path takes ${allow}, not ${c.req.method}` }, 405, {
    allow,
  });
}

function answerError(error: Error, c: RequestContext, logger: Logger): Response {
  const { status, body, headers } = answerOf(error, { request: c.req.raw, logger });
  c.set('code', body.code);
  return c.json(body, status, headers);
}
