/** Holds the OpenAPI document against the server: what is asked and answered is described, and what is described is asked and answered. */

import { silentLogger } from '@holdfast/runtime';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';

import { AuthorityError } from '../../src/confirmation.ts';
import type { LockLook } from '../../src/confirmation.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import type { HttpHandler } from '../../src/http/handler.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { memoryEngine } from '../support/memory-engine.ts';

interface MediaType {
  readonly schema?: object;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: { readonly type?: unknown };
}

interface ResponseObject {
  readonly headers?: Readonly<Record<string, { readonly schema: object }>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface PathItem {
  readonly parameters?: readonly Parameter[];
  readonly get?: Operation;
  readonly put?: Operation;
  readonly post?: Operation;
  readonly delete?: Operation;
}

interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface Asked {
  readonly method: 'get' | 'put' | 'post' | 'delete';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Exchange extends Asked {
  readonly status: number;
  readonly answered: Headers;
  readonly text: string;
}

const ORIGIN = 'http://127.0.0.1:7400';
const LONG = 'b'.repeat(129);
const JUMP = String(Number.MAX_SAFE_INTEGER);
const JSON_TYPE = { 'content-type': 'application/json' };
const OCTETS = { 'content-type': 'application/octet-stream' };
const HELD = { 'fencing-token': '57' };
const STALE = { 'fencing-token': '56' };
const NEWER = { 'fencing-token': '58' };
/** Of HTTP itself, and of every answer. */
const PLAIN_HEADERS = new Set(['content-type', 'content-length', 'host', 'origin']);

const WRITES = JSON.stringify({
  writes: [
    { op: 'put', key: 'a', value: 'v', ttlMs: 60_000 },
    { op: 'put', key: 'c', valueBase64: 'dg==' },
    { op: 'delete', key: 'z', ifRevision: null },
  ],
});

/** Of one bucket, in the order in which they are asked. */
const REQUESTS: readonly Asked[] = [
  { method: 'get', path: '/health' },
  { method: 'get', path: '/metrics' },
  { method: 'get', path: '/openapi.json' },
  { method: 'put', path: '/v1/buckets/made', headers: JSON_TYPE, body: '{"tokens":"optional"}' },
  { method: 'put', path: '/v1/buckets/made', headers: JSON_TYPE, body: '{"tokens":"optional"}' },
  { method: 'put', path: '/v1/buckets/made', headers: JSON_TYPE, body: '{"lock":"jobs"}' },
  { method: 'put', path: '/v1/buckets/bound', headers: JSON_TYPE, body: '{"lock":"jobs"}' },
  { method: 'put', path: `/v1/buckets/${LONG}`, headers: JSON_TYPE, body: '{"lock":"jobs"}' },
  { method: 'put', path: '/v1/buckets/made', body: '{"tokens":"optional"}' },
  { method: 'put', path: '/v1/buckets/made', headers: JSON_TYPE, body: '{"token":"optional"}' },
  { method: 'post', path: '/v1/buckets/b/fence', headers: JSON_TYPE, body: '{"token":57,"floor":41}' },
  { method: 'post', path: '/v1/buckets/b/fence', headers: JSON_TYPE, body: '{"token":"0057"}' },
  { method: 'post', path: '/v1/buckets/b/fence', headers: JSON_TYPE, body: '{"token":56}' },
  { method: 'post', path: '/v1/buckets/b/fence', headers: JSON_TYPE, body: `{"token":${JUMP}}` },
  { method: 'post', path: '/v1/buckets/bound/fence', headers: JSON_TYPE, body: `{"token":${JUMP}}` },
  { method: 'post', path: '/v1/buckets/bound/fence', headers: JSON_TYPE, body: '{"token":57,"floor":57}' },
  { method: 'post', path: `/v1/buckets/${LONG}/fence`, headers: JSON_TYPE, body: '{"token":57}' },
  { method: 'post', path: '/v1/buckets/b/fence', body: '{"token":57}' },
  { method: 'put', path: '/v1/buckets/b/keys/k', headers: { ...OCTETS, ...HELD, 'fencing-floor': '41' }, body: 'v' },
  { method: 'put', path: '/v1/buckets/b/keys/short?ttlMs=60000', headers: { ...OCTETS, ...HELD }, body: 'v' },
  { method: 'put', path: '/v1/buckets/b/keys/k', headers: { ...OCTETS, ...HELD, 'if-none-match': '*' }, body: 'v' },
  { method: 'put', path: '/v1/buckets/b/keys/k', headers: { ...OCTETS, ...STALE }, body: 'v' },
  { method: 'put', path: '/v1/buckets/b/keys/k', headers: { ...OCTETS, 'fencing-token': JUMP }, body: 'v' },
  { method: 'put', path: '/v1/buckets/b/keys/k', headers: OCTETS, body: 'v' },
  { method: 'put', path: `/v1/buckets/b/keys/${'k'.repeat(513)}`, headers: { ...OCTETS, ...HELD }, body: 'v' },
  { method: 'put', path: '/v1/buckets/b/keys/k', headers: { ...JSON_TYPE, ...HELD }, body: '{}' },
  { method: 'post', path: '/v1/buckets/b/batch', headers: { ...JSON_TYPE, ...HELD }, body: WRITES },
  { method: 'post', path: '/v1/buckets/b/batch', headers: { ...JSON_TYPE, ...STALE }, body: WRITES },
  { method: 'post', path: '/v1/buckets/b/batch', headers: { ...JSON_TYPE, 'fencing-token': JUMP }, body: WRITES },
  { method: 'post', path: '/v1/buckets/b/batch', headers: JSON_TYPE, body: WRITES },
  { method: 'post', path: `/v1/buckets/${LONG}/batch`, headers: { ...JSON_TYPE, ...HELD }, body: WRITES },
  { method: 'post', path: '/v1/buckets/b/batch', headers: { ...OCTETS, ...HELD }, body: WRITES },
  { method: 'get', path: '/v1/buckets/b/keys/k' },
  { method: 'get', path: '/v1/buckets/b/keys/short', headers: HELD },
  { method: 'get', path: '/v1/buckets/b/keys/k', headers: { 'if-none-match': '"1"' } },
  { method: 'get', path: '/v1/buckets/b/keys/k', headers: { 'if-match': '"9"' } },
  { method: 'get', path: '/v1/buckets/b/keys/k', headers: NEWER },
  { method: 'get', path: '/v1/buckets/b/keys/none' },
  { method: 'get', path: '/v1/buckets/nobody/keys/k' },
  { method: 'get', path: `/v1/buckets/${LONG}/keys/k` },
  { method: 'get', path: '/v1/buckets/b/keys?prefix=&after=a&limit=10', headers: HELD },
  { method: 'get', path: '/v1/buckets/b/keys?limit=none' },
  { method: 'get', path: '/v1/buckets/b/keys', headers: STALE },
  { method: 'get', path: '/v1/buckets/b/keys', headers: NEWER },
  { method: 'get', path: '/v1/buckets/nobody/keys' },
  { method: 'get', path: `/v1/buckets/${LONG}/keys` },
  { method: 'get', path: '/v1/buckets/b', headers: HELD },
  { method: 'get', path: '/v1/buckets/bound' },
  { method: 'get', path: '/v1/buckets/b', headers: STALE },
  { method: 'get', path: '/v1/buckets/b', headers: NEWER },
  { method: 'get', path: '/v1/buckets/nobody' },
  { method: 'get', path: `/v1/buckets/${LONG}` },
  { method: 'get', path: '/v1/buckets/b', headers: { origin: 'https://example.com' } },
  { method: 'get', path: '/v1/buckets/b', headers: { host: 'example.com' } },
  { method: 'get', path: '/v1/buckets/b/changes?from=0', headers: HELD },
  { method: 'get', path: '/v1/buckets/b/changes', headers: { 'last-event-id': '1' } },
  { method: 'get', path: '/v1/buckets/b/changes?from=999' },
  { method: 'get', path: '/v1/buckets/b/changes', headers: STALE },
  { method: 'get', path: '/v1/buckets/b/changes', headers: NEWER },
  { method: 'get', path: '/v1/buckets/nobody/changes' },
  { method: 'get', path: `/v1/buckets/${LONG}/changes` },
  { method: 'delete', path: '/v1/buckets/b/keys/k', headers: { ...HELD, 'if-match': '"9"' } },
  { method: 'delete', path: '/v1/buckets/b/keys/k', headers: { 'fencing-token': JUMP } },
  { method: 'delete', path: '/v1/buckets/b/keys/k' },
  { method: 'delete', path: `/v1/buckets/${LONG}/keys/k`, headers: HELD },
  { method: 'delete', path: '/v1/buckets/b/keys/k', headers: HELD },
];

let handler: HttpHandler;
let document: OpenApi;
const exchanges: Exchange[] = [];
const ajv = new Ajv2020({ strict: false, allErrors: true });

async function ask(asked: Asked): Promise<void> {
  const { method, path, headers = {}, body = null } = asked;
  const response = await handler(new Request(`${ORIGIN}${path}`, { method: method.toUpperCase(), headers, body }));
  const follows = mediaTypeOf(response.headers) === 'text/event-stream';
  // It has no end.
  if (follows) await response.body?.cancel();
  const text = follows ? '' : await response.text();
  exchanges.push({ ...asked, status: response.status, answered: response.headers, text });
}

beforeAll(async () => {
  const engine = memoryEngine();
  let reachable = true;
  const look = async (): Promise<LockLook> => {
    if (!reachable) throw new AuthorityError('nobody answers');
    return { held: { lowest: 41, highest: 57 }, index: 60 };
  };
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const store = await FencedStore.open(engine, { authority: { look }, clock });
  handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
  document = (await (await handler(new Request(`${ORIGIN}/openapi.json`))).json()) as OpenApi;
  for (const asked of REQUESTS) await ask(asked);
  reachable = false;
  await ask({ method: 'post', path: '/v1/buckets/bound/fence', headers: JSON_TYPE, body: '{"token":57}' });
  engine.failNext();
  await ask({ method: 'delete', path: '/v1/buckets/b/keys/k', headers: HELD });
  await ask({ method: 'get', path: '/health' });
});

function templateOf(path: string): string | undefined {
  const segments = new URL(path, ORIGIN).pathname.split('/');
  return Object.keys(document.paths).find((template) => {
    const parts = template.split('/');
    return parts.length === segments.length && parts.every((part, at) => part.startsWith('{') || part === segments[at]);
  });
}

interface Asking {
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
}

function operationOf({ method, path }: Asked): Asking {
  const item = document.paths[templateOf(path) ?? ''];
  const operation = item?.[method];
  if (operation === undefined) throw new Error(`${method} ${path} is not described`);
  return { operation, parameters: [...(item?.parameters ?? []), ...operation.parameters] };
}

/** What is wrong with a value; undefined where nothing is. */
function problemOf(schema: object, value: unknown): string | undefined {
  const validate = ajv.compile({ ...schema, components: document.components });
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

const nameOf = ({ method, path, status }: Exchange): string => `${method} ${path.slice(0, 60)} -> ${status}`;
const mediaTypeOf = (headers: Headers): string => headers.get('content-type')?.split(';', 1)[0] ?? '';

describe('the OpenAPI document', () => {
  it('describes every request that is taken: its path, method, parameters and body', () => {
    const problems: string[] = [];
    for (const exchange of exchanges) {
      const { operation, parameters } = operationOf(exchange);
      if (exchange.status >= 400) continue;
      const found = (where: string, name: string): Parameter | undefined =>
        parameters.find((each) => each.in === where && each.name.toLowerCase() === name);
      const check = (where: string, name: string, text: string): void => {
        const parameter = found(where, name);
        const value = parameter?.schema.type === 'integer' ? Number(text) : text;
        const problem = parameter === undefined ? 'is not described' : problemOf(parameter.schema, value);
        if (problem !== undefined && text !== '') problems.push(`${nameOf(exchange)}: ${where} ${name} ${problem}`);
      };
      for (const [name, text] of new URL(exchange.path, ORIGIN).searchParams) check('query', name.toLowerCase(), text);
      for (const [name, text] of Object.entries(exchange.headers ?? {})) {
        if (!PLAIN_HEADERS.has(name)) check('header', name, text);
      }
      const type = exchange.headers?.['content-type'];
      const content = operation.requestBody?.content;
      if ((type === undefined) !== (content === undefined)) problems.push(`${nameOf(exchange)}: body`);
      if (type === undefined || content === undefined) continue;
      const media = content[type];
      if (media === undefined) problems.push(`${nameOf(exchange)}: body of ${type} is not described`);
      const problem = media?.schema && problemOf(media.schema, JSON.parse(exchange.body ?? ''));
      if (problem !== undefined) problems.push(`${nameOf(exchange)}: body ${problem}`);
    }
    expect(problems).toEqual([]);
  });

  it('describes every answer: its status, headers and body', () => {
    const problems: string[] = [];
    for (const exchange of exchanges) {
      const { answered, status, text } = exchange;
      const response = operationOf(exchange).operation.responses[status];
      if (response === undefined) {
        problems.push(`${nameOf(exchange)}: the status is not described`);
        continue;
      }
      const described = new Map(
        Object.entries(response.headers ?? {}).map(([name, each]) => [name.toLowerCase(), each]),
      );
      for (const [name, value] of answered) {
        if (PLAIN_HEADERS.has(name)) continue;
        const header = described.get(name);
        const problem = header === undefined ? 'is not described' : problemOf(header.schema, value);
        if (problem !== undefined) problems.push(`${nameOf(exchange)}: header ${name} ${problem}`);
      }
      const type = mediaTypeOf(answered);
      const media = response.content?.[type];
      if (response.content === undefined ? text !== '' : media === undefined) {
        problems.push(`${nameOf(exchange)}: a body of type "${type}" is not described`);
      }
      if (type !== 'application/json' || media?.schema === undefined) continue;
      const problem = problemOf(media.schema, JSON.parse(text));
      if (problem !== undefined) problems.push(`${nameOf(exchange)}: body ${problem}: ${text}`);
    }
    expect(problems).toEqual([]);
  });

  it('describes no operation and no status that the server does not have', () => {
    const seen = new Set(
      exchanges.map((exchange) => `${operationOf(exchange).operation.operationId} ${exchange.status}`),
    );
    // What every request may be answered is tried at some of them.
    const everywhere = new Set(['400', '403', '500', '503']);
    const described: string[] = [];
    for (const item of Object.values(document.paths)) {
      for (const operation of [item.get, item.put, item.post, item.delete]) {
        if (operation === undefined) continue;
        for (const status of Object.keys(operation.responses)) {
          if (!everywhere.has(status)) described.push(`${operation.operationId} ${status}`);
        }
      }
    }
    expect(described.filter((each) => !seen.has(each))).toEqual([]);
    const statuses = new Set(exchanges.map(({ status }) => status));
    for (const status of [400, 403, 503]) expect(statuses).toContain(status);
  });

  it('has schemas that hold nothing back: an unknown field, another code and a missing field are found', () => {
    const [refused] = exchanges.filter(({ status }) => status === 412);
    const response = refused && operationOf(refused).operation.responses['412'];
    const schema = response?.content?.['application/json']?.schema ?? {};
    const body = JSON.parse(refused?.text ?? '') as Record<string, unknown>;
    expect(problemOf(schema, body)).toBeUndefined();
    expect(problemOf(schema, { ...body, more: 1 })).toBeDefined();
    expect(problemOf(schema, { ...body, code: 'OTHER' })).toBeDefined();
    expect(problemOf(schema, { code: body['code'], message: body['message'] })).toBeDefined();
  });

  it('is of version 3.1, names each operation once and refers to nothing that is missing', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const operations = Object.values(document.paths).flatMap(({ get, put, post, delete: remove }) =>
      [get, put, post, remove].flatMap((each) => each?.operationId ?? []),
    );
    expect(new Set(operations).size).toBe(operations.length);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    const missing = references.filter(([, name = '']) => document.components.schemas[name] === undefined);
    expect(missing).toEqual([]);
    for (const [template, { parameters = [] }] of Object.entries(document.paths)) {
      const inTemplate = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name }) => name)).toEqual(inTemplate);
    }
  });
});
