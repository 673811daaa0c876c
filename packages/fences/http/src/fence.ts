/** One fence of a service: it judges the token of a request, runs the handler within the gate, and says how a refusal is answered. */

import { checkOptionNames, checkScope, FenceError, StaleTokenError } from '@holdfast/fence';
import { checkMs, invalid } from '@holdfast/fence/adapter';
import type { FloorStore } from './floors.ts';
import { gateOf, type Entry, type FencedRequest, type Gate } from './gate.ts';
import { parseFencingToken, type PresentedToken } from './header.ts';

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
interface Refusal {
  readonly status: 400 | 412 | 428 | 500 | 503;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON: `code`, `message`, and of a stale token `presented` and `highest`. */
  readonly body: string;
}

interface Refused {
  readonly refusal: Refusal;
}

export type Judged<Result> = { readonly result: Result } | Refused;

const DEFAULT_WAIT_MS = 30_000;

export class HttpFence<Request> {
  readonly #gate: Gate;
  readonly #options: HttpFenceOptions<Request>;

  constructor(what: string, options: HttpFenceOptions<Request>) {
    checkOptionNames(what, options, { floors: true, scope: true, waitMs: true });
    const { floors, scope, waitMs = DEFAULT_WAIT_MS } = options;
    const isStore: boolean = typeof floors?.raise === 'function' && typeof floors.highest === 'function';
    if (!isStore)
      throw invalid('floors is a store of floors: memoryFloors(), fileFloors(directory) or one of your own');
    if (typeof scope !== 'function') checkScope(scope);
    checkMs('waitMs', waitMs);
    this.#gate = gateOf(floors);
    this.#options = { floors, scope, waitMs };
  }

  /** Runs `work` if the token is not stale. Rejects with what `work` rejects with. */
  async run<Result>(
    request: Request,
    header: string | readonly string[] | null | undefined,
    work: (fenced: FencedRequest) => Promise<Result>,
  ): Promise<Judged<Result>> {
    const entry = await this.#enter(request, header);
    if ('refusal' in entry) return entry;
    try {
      return { result: await work(entry.fenced) };
    } finally {
      entry.leave();
    }
  }

  async #enter(request: Request, header: string | readonly string[] | null | undefined): Promise<Entry | Refused> {
    const { scope: named, waitMs = DEFAULT_WAIT_MS } = this.#options;
    let presented: PresentedToken | undefined;
    let scope: string;
    try {
      presented = parseFencingToken(header);
      scope = typeof named === 'function' ? named(request) : named;
      checkScope(scope);
    } catch (error) {
      const malformed = error instanceof FenceError && error.code === 'INVALID_ARGUMENT';
      return malformed ? refused(400, { code: error.code, message: error.message }) : broken(error);
    }
    if (presented === undefined) return required(scope);
    return await this.#gate.enter(scope, presented, waitMs).catch(refusalOf);
  }
}

function required(scope: string): Refused {
  const message = `scope ${JSON.stringify(scope)} takes no request without a token: acquire the lock, and send the header Fencing-Token`;
  return refused(428, { code: 'TOKEN_REQUIRED', message, scope });
}

function refusalOf(error: unknown): Refused {
  if (error instanceof StaleTokenError) {
    const { code, message, scope, token: presented, highest } = error;
    return refused(412, { code, message, scope, presented, highest });
  }
  if (!(error instanceof FenceError) || !error.retryable) return broken(error);
  const message = error.code === 'TIMEOUT' ? error.message : UNJUDGED;
  return refused(503, { code: error.code, message }, { 'retry-after': '1' });
}

const UNJUDGED = 'the service cannot judge tokens at the moment; nothing was done';

/** Paths and names of servers are for the operator, and nobody's business outside. */
function broken(error: unknown): Refused {
  process.emitWarning(error instanceof Error ? error : String(error));
  return refused(500, { code: 'RESOURCE', message: UNJUDGED });
}

function refused(
  status: Refusal['status'],
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Refused {
  const always = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return { refusal: { status, headers: { ...always, ...headers }, body: JSON.stringify(body) } };
}
