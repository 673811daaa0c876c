/** One fence of a service: it judges the token of a request, runs the handler within the gate, and says how a refusal is answered. */

import { checkOptionNames, checkScope, FenceError, StaleTokenError } from '@holdfast/fence';
import type { FloorStore } from './floors.ts';
import { gateOf, type Entry, type FencedRequest, type Gate } from './gate.ts';
import { parseFencingToken } from './header.ts';

export interface HttpFenceOptions<Request> {
  /**
   * Where the highest floors are kept: `fileFloors(directory)`, `memoryFloors()`, or the database that has the data. Give one object to all handlers
   * that write in a scope: those of one store of floors wait for each other, and those of two do not.
   */
  readonly floors: FloorStore;
  /** What must stay consistent together: a name, or how a request says it. */
  readonly scope: string | ((request: Request) => string);
  /**
   * For how many milliseconds a newer holder waits for the requests of older ones that are at work; then it is answered 503, and nothing
   * is raised. @default 30,000
   */
  readonly waitMs?: number | undefined;
}

/** What is answered instead of the handler's answer. */
export interface Refusal {
  readonly status: 400 | 412 | 428 | 500 | 503;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON: `code`, `message`, and of a stale token `presented` and `highest`. */
  readonly body: string;
}

export type Judged<Result> = { readonly result: Result } | { readonly refusal: Refusal };

const DEFAULT_WAIT_MS = 30_000;
const MAX_WAIT_MS = 2 ** 31 - 1;
const RETRY_AFTER_S = 1;

export class HttpFence<Request> {
  readonly #gate: Gate;
  readonly #waitMs: number;
  readonly #scope: string | ((request: Request) => string);

  constructor(what: string, options: HttpFenceOptions<Request>) {
    checkOptionNames(what, options, { floors: true, scope: true, waitMs: true });
    const { floors, scope, waitMs = DEFAULT_WAIT_MS } = options;
    const isStore: boolean = typeof floors?.raise === 'function' && typeof floors.highest === 'function';
    if (!isStore)
      throw invalid('floors is a store of floors: memoryFloors(), fileFloors(directory) or one of your own');
    if (typeof scope !== 'function') checkScope(scope);
    if (!Number.isInteger(waitMs) || waitMs < 1 || waitMs > MAX_WAIT_MS) {
      throw invalid(`waitMs is ${String(waitMs)}; it is a whole number of milliseconds from 1 to ${MAX_WAIT_MS}`);
    }
    this.#gate = gateOf(floors);
    this.#waitMs = waitMs;
    this.#scope = scope;
  }

  /** Runs `work` if the token is not stale. Rejects with what `work` rejects with. */
  async run<Result>(
    request: Request,
    header: string | readonly string[] | null | undefined,
    work: (fenced: FencedRequest) => Promise<Result>,
  ): Promise<Judged<Result>> {
    let entry: Entry;
    try {
      const presented = parseFencingToken(header);
      const scope = typeof this.#scope === 'function' ? this.#scope(request) : this.#scope;
      checkScope(scope);
      if (presented === undefined) return { refusal: required(scope) };
      entry = await this.#gate.enter(scope, presented, this.#waitMs).catch((error: unknown) => {
        throw new Refused(refusalOf(error));
      });
    } catch (error) {
      if (error instanceof Refused) return { refusal: error.refusal };
      const malformed = error instanceof FenceError && error.code === 'INVALID_ARGUMENT';
      return { refusal: malformed ? refusal(400, { code: error.code, message: error.message }) : broken(error) };
    }
    try {
      return { result: await work(entry.fenced) };
    } finally {
      entry.leave();
    }
  }
}

function required(scope: string): Refusal {
  const message = `scope ${JSON.stringify(scope)} takes no request without a token: acquire the lock, and send the header Fencing-Token`;
  return refusal(428, { code: 'TOKEN_REQUIRED', message, scope });
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof StaleTokenError) {
    const { code, message, scope, token: presented, highest } = error;
    return refusal(412, { code, message, scope, presented, highest });
  }
  if (!(error instanceof FenceError) || !error.retryable) return broken(error);
  const { code } = error;
  const message = code === 'TIMEOUT' ? error.message : UNJUDGED;
  return refusal(503, { code, message }, { 'retry-after': `${RETRY_AFTER_S}` });
}

const UNJUDGED = 'the service cannot judge tokens at the moment; nothing was done';

/** Paths and names of servers are for the operator, and nobody's business outside. */
function broken(error: unknown): Refusal {
  process.emitWarning(error instanceof Error ? error : String(error));
  return refusal(500, { code: 'RESOURCE', message: UNJUDGED });
}

class Refused extends Error {
  readonly refusal: Refusal;

  constructor(answer: Refusal) {
    super(answer.body);
    this.refusal = answer;
  }
}

function refusal(
  status: Refusal['status'],
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const always = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return { status, headers: { ...always, ...headers }, body: JSON.stringify(body) };
}

function invalid(message: string): FenceError {
  return new FenceError('INVALID_ARGUMENT', message);
}
