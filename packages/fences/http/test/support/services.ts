/** A small service on each framework: PUT writes a cell behind the fence, GET reads it, POST installs. And the suite's view of it, over fetch. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import type { FencedResource, Holder, SlowWrite } from '@holdfast/fence-conformance';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import {
  fencedFetch,
  fenceExpress,
  fenceFastify,
  fenceHono,
  fenceNode,
  type FencedRequest,
  type FloorStore,
} from '../../src/index.ts';

/** The data of a service, and bodies of slow writes that wait for a word. */
class Data {
  readonly cells = new Map<string, string>();
  readonly #gates = new Map<string, { readonly promise: Promise<void>; readonly end: (commit: boolean) => void }>();

  /** What a handler does: with a gate it waits between its beginning and its write. */
  async put(key: string, value: string, gate: string | undefined): Promise<boolean> {
    if (gate !== undefined) {
      let ends: (commit: boolean) => void = () => undefined;
      const told = new Promise<boolean>((resolve) => {
        ends = resolve;
      });
      this.#gates.set(gate, { promise: told.then(() => undefined), end: ends });
      if (!(await told)) return false;
    }
    this.cells.set(key, value);
    return true;
  }

  async end(gate: string, commit: boolean): Promise<void> {
    this.#gates.get(gate)?.end(commit);
  }

  waits(gate: string): boolean {
    return this.#gates.has(gate);
  }
}

export interface Service {
  readonly url: string;
  readonly data: Data;
  close(): Promise<void>;
}

/** What must stay consistent together, as a request says it. */
export type ScopeOf = (request: { readonly url?: string | undefined }) => string;

interface StartOptions {
  readonly waitMs?: number | undefined;
  /** @default the first part of the path; node:http only */
  readonly scopeOf?: ScopeOf | undefined;
}

export type Start = (floors: FloorStore, options?: StartOptions) => Promise<Service>;

interface Parts {
  readonly scope: string;
  readonly key: string;
  readonly gate: string | undefined;
}

/** `/SCOPE/CELL?gate=NAME` */
function partsOf(url: string): Parts {
  const { pathname, searchParams } = new URL(url, 'http://service');
  const [, scope = '', cell = ''] = pathname.split('/').map(decodeURIComponent);
  return { scope, key: JSON.stringify([scope, cell]), gate: searchParams.get('gate') ?? undefined };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closing(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

const firstPart: ScopeOf = ({ url = '' }) => partsOf(url).scope;

const onNode: Start = async (floors, { waitMs, scopeOf = firstPart } = {}) => {
  const data = new Data();
  const scope = (request: IncomingMessage): string => scopeOf(request);
  const fenced = fenceNode({ floors, scope, waitMs }, async (request, response) => {
    const { key, gate } = partsOf(request.url ?? '');
    if (request.method === 'POST') return void response.writeHead(204).end();
    const done = await data.put(key, await bodyOf(request), gate);
    response.writeHead(done ? 204 : 409).end();
  });
  const server = createServer((request, response) => {
    if (request.method === 'GET') return sendValue(response, data.cells.get(partsOf(request.url ?? '').key));
    void fenced(request, response);
  });
  return { url: await listening(server), data, close: () => closing(server) };
};

function sendValue(response: ServerResponse, value: string | undefined): void {
  response.writeHead(value === undefined ? 404 : 200).end(value);
}

const onExpress: Start = async (floors, { waitMs } = {}) => {
  const data = new Data();
  const app = express();
  const scope = (request: express.Request): string => partsOf(request.originalUrl).scope;
  app.use(express.text({ type: () => true }));
  app.get('/:scope/:cell', (request, response) =>
    sendValue(response, data.cells.get(partsOf(request.originalUrl).key)),
  );
  app.post(
    '/:scope/:cell',
    fenceExpress({ floors, scope, waitMs }, (_request: express.Request, response: express.Response) => {
      response.sendStatus(204);
    }),
  );
  app.put(
    '/:scope/:cell',
    fenceExpress({ floors, scope, waitMs }, async (request: express.Request, response: express.Response) => {
      const { key, gate } = partsOf(request.originalUrl);
      const done = await data.put(key, typeof request.body === 'string' ? request.body : '', gate);
      response.sendStatus(done ? 204 : 409);
    }),
  );
  const server = createServer(app);
  return { url: await listening(server), data, close: () => closing(server) };
};

const onFastify: Start = async (floors, { waitMs } = {}) => {
  const data = new Data();
  const app = fastify({ forceCloseConnections: true, routerOptions: { maxParamLength: 500 } });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  const scope = (request: { readonly url: string }): string => partsOf(request.url).scope;
  app.get('/:scope/:cell', async (request, reply) => {
    const value = data.cells.get(partsOf(request.url).key);
    return await reply.code(value === undefined ? 404 : 200).send(value ?? '');
  });
  app.post(
    '/:scope/:cell',
    fenceFastify({ floors, scope, waitMs }, async (_request: fastify.FastifyRequest, reply: fastify.FastifyReply) => {
      await reply.code(204).send();
    }),
  );
  app.put(
    '/:scope/:cell',
    fenceFastify({ floors, scope, waitMs }, async (request: fastify.FastifyRequest, reply: fastify.FastifyReply) => {
      const { key, gate } = partsOf(request.url);
      const done = await data.put(key, typeof request.body === 'string' ? request.body : '', gate);
      await reply.code(done ? 204 : 409).send();
    }),
  );
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), data, close: () => app.close() };
};

const onHono: Start = async (floors, { waitMs } = {}) => {
  const data = new Data();
  const app = new Hono<{ Variables: { fenced: FencedRequest } }>();
  const fenced = fenceHono({
    floors,
    scope: (context: {
      readonly req: { readonly url: string; header(name: string): string | undefined };
      set(key: 'fenced', value: FencedRequest): void;
    }) => partsOf(context.req.url).scope,
    waitMs,
  });
  app.get('/:scope/:cell', (context) => {
    const value = data.cells.get(partsOf(context.req.url).key);
    return value === undefined ? context.body(null, 404) : context.text(value);
  });
  app.post('/:scope/:cell', fenced, (context) => context.body(null, 204));
  app.put('/:scope/:cell', fenced, async (context) => {
    const { key, gate } = partsOf(context.req.url);
    const done = await data.put(key, await context.req.text(), gate);
    return context.body(null, done ? 204 : 409);
  });
  const server = await new Promise<Server>((resolve) => {
    const made = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(made as Server));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, data, close: () => closing(server) };
};

export const SERVICES = {
  'node:http': onNode,
  'Express 5': onExpress,
  'Fastify 5': onFastify,
  'Hono 4': onHono,
} as const satisfies Readonly<Record<string, Start>>;

let names = 0;
const ODD_NAMES = ['jobs', "O'Brien", 'a/b', '%2F', 'ü/💡', '?x=1#y', 'x'.repeat(150)];

export function resourceOf(service: () => Service, others: Partial<FencedResource> = {}): FencedResource {
  const address = (scope: string, cell: string): string =>
    `${service().url}/${encodeURIComponent(scope)}/${encodeURIComponent(cell)}`;
  const send = async (holder: Holder, url: string, init: RequestInit): Promise<Response> => {
    const response = await fencedFetch(holder)(url, init);
    if (response.status >= 400) throw new Error(`${response.status}: ${await response.text()}`);
    return response;
  };
  return {
    cells: true,
    scope: () => {
      names += 1;
      return `${ODD_NAMES[names % ODD_NAMES.length]}${names}`;
    },
    write: async (scope, holder, value, cell = 'a') =>
      void (await send(holder, address(scope, cell), { method: 'PUT', body: value })),
    install: async (scope, holder) => void (await send(holder, address(scope, 'a'), { method: 'POST' })),
    read: async (scope, _holder, cell = 'a') => {
      const response = await fetch(address(scope, cell));
      return response.status === 404 ? null : await response.text();
    },
    slowWrite: async (scope, holder, value): Promise<SlowWrite> => {
      names += 1;
      const gate = `gate-${names}`;
      const { data } = service();
      const writing = send(holder, `${address(scope, 'a')}?gate=${gate}`, { method: 'PUT', body: value });
      writing.catch(() => undefined);
      while (!data.waits(gate)) {
        await Promise.race([new Promise((resolve) => setTimeout(resolve, 1)), writing]);
      }
      return {
        finish: async () => {
          await data.end(gate, true);
          await writing;
        },
        abandon: async () => {
          await data.end(gate, false);
          await writing.catch(() => undefined);
        },
      };
    },
    ...others,
  };
}
