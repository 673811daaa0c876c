/**
 * The fence in front of handlers of node:http, Express, Fastify and Hono. Each takes the handler itself, and not only its place in a chain:
 * a request is at work until the promise of its handler has settled, and newer holders wait for that. A client that hangs up changes nothing.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { FENCING_TOKEN } from './header.ts';
import { HttpFence, type HttpFenceOptions } from './fence.ts';
import type { FencedRequest } from './gate.ts';

/** What a handler answered, or whether it is the handler's. */
type Work<Result> = Result | Promise<Result>;

/**
 * A listener of `http.createServer` whose requests carry a token that is not stale. Others are answered 412, 428 or 400.
 *
 * @param handler answers before its promise resolves. What it rejects with is a warning of the process, and answered 500
 *
 * @example
 * const listener = fenceNode({ floors, scope: 'jobs' }, async (request, response, fenced) => {
 *   await save(await bodyOf(request), fenced.token);
 *   response.writeHead(204).end();
 * });
 * createServer(listener).listen(8080);
 */
export function fenceNode<Request extends IncomingMessage, Response extends ServerResponse>(
  options: HttpFenceOptions<Request>,
  handler: (request: Request, response: Response, fenced: FencedRequest) => Work<void>,
): (request: Request, response: Response) => Promise<void> {
  const fence = new HttpFence('fenceNode', options);
  return async (request, response) =>
    await serve(fence, request, response, handler, (error) => {
      process.emitWarning(error instanceof Error ? error : String(error));
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'content-type': 'text/plain' }).end('the handler failed');
    });
}

/**
 * A handler of Express 5, of which a request and a response of node:http are needed, and `next`. What `handler` rejects with goes to `next`.
 *
 * @example
 * app.put('/jobs/:id', fenceExpress({ floors, scope: 'jobs' }, async (request, response, fenced) => {
 *   await save(request.params.id, request.body, fenced.token);
 *   response.sendStatus(204);
 * }));
 */
export function fenceExpress<Request extends IncomingMessage, Response extends ServerResponse>(
  options: HttpFenceOptions<Request>,
  handler: (request: Request, response: Response, fenced: FencedRequest) => Work<unknown>,
): (request: Request, response: Response, next: (error?: unknown) => void) => Promise<void> {
  const fence = new HttpFence('fenceExpress', options);
  return async (request, response, next) => await serve(fence, request, response, handler, next);
}

/** @param failed is given what the handler rejects with */
async function serve<Request extends IncomingMessage, Response extends ServerResponse>(
  fence: HttpFence<Request>,
  request: Request,
  response: Response,
  handler: (request: Request, response: Response, fenced: FencedRequest) => Work<unknown>,
  failed: (error: unknown) => void,
): Promise<void> {
  try {
    const judged = await fence.run(request, request.headers[FENCING_TOKEN], async (fenced) => {
      await handler(request, response, fenced);
    });
    if (!('refusal' in judged) || response.headersSent) return;
    const { status, headers, body } = judged.refusal;
    response.writeHead(status, headers).end(body);
  } catch (error) {
    failed(error);
  }
}

/** What of Fastify is needed. */
export interface FastifyRequestLike {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}
export interface FastifyReplyLike {
  code(status: number): unknown;
  headers(values: Readonly<Record<string, string>>): unknown;
}

/**
 * A handler of Fastify 5. It answers with what `handler` returns, as any other does.
 *
 * @example
 * app.put('/jobs/:id', fenceFastify({ floors, scope: 'jobs' }, async (request, reply, fenced) => {
 *   await save(request.params.id, request.body, fenced.token);
 *   return reply.code(204).send();
 * }));
 */
export function fenceFastify<Request extends FastifyRequestLike, Reply extends FastifyReplyLike>(
  options: HttpFenceOptions<Request>,
  handler: (request: Request, reply: Reply, fenced: FencedRequest) => Work<unknown>,
): (request: Request, reply: Reply) => Promise<unknown> {
  const fence = new HttpFence('fenceFastify', options);
  return async (request, reply) => {
    const judged = await fence.run(request, request.headers[FENCING_TOKEN], async (fenced) => {
      const work = handler(request, reply, fenced);
      // A reply has a `then`, which an await would wait for: for an answer that is sent behind this.
      return { answer: work === reply ? undefined : await work };
    });
    if ('result' in judged) return judged.result.answer;
    reply.code(judged.refusal.status);
    reply.headers(judged.refusal.headers);
    return judged.refusal.body;
  };
}

/** What of Hono is needed. */
export interface HonoContextLike {
  readonly req: { header(name: string): string | undefined };
  set(key: 'fenced', value: FencedRequest): void;
}

/**
 * Middleware of Hono 4, whose `next()` is the whole handler. The handler finds its token as `context.get('fenced')`.
 *
 * @example
 * const app = new Hono<{ Variables: { fenced: FencedRequest } }>();
 * app.put('/jobs/:id', fenceHono({ floors, scope: 'jobs' }), async (context) => {
 *   await save(context.req.param('id'), await context.req.text(), context.get('fenced').token);
 *   return context.body(null, 204);
 * });
 */
export function fenceHono<Context extends HonoContextLike>(
  options: HttpFenceOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const fence = new HttpFence('fenceHono', options);
  return async (context, next) => {
    const judged = await fence.run(context, context.req.header(FENCING_TOKEN), async (fenced) => {
      context.set('fenced', fenced);
      await next();
    });
    if (!('refusal' in judged)) return undefined;
    const { status, headers, body } = judged.refusal;
    return new Response(body, { status, headers });
  };
}
