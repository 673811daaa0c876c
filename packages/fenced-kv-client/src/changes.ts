/** Following a bucket: its changes as they come, over connections that break, from where the last one ended. */

import { FencedKvError } from './errors.ts';

export interface Change {
  /** `expired`: its time to live was over, and it has been removed. */
  readonly type: 'put' | 'delete' | 'expired';
  readonly key: string;
  /** Of the value, of a `put`. */
  readonly bytes?: number;
}

/** All that one write has changed, or one removal of expired keys. */
export interface RevisionChanges {
  /** What to pass as `from` to go on behind it. */
  readonly revision: number;
  readonly changes: readonly Change[];
}

/** A connection to a bucket's changes. */
interface Followed {
  readonly body: ReadableStream<Uint8Array>;
}

export interface FollowDeps {
  /** Rejects with {@link FencedKvError}. */
  open(from: number | undefined, signal: AbortSignal): Promise<Followed>;
  readonly signal: AbortSignal | undefined;
  /** @internal Tests lower them. */
  readonly silenceMs?: number;
}

/** Three heartbeats of the server. */
const SILENCE_MS = 45_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** Ends with its signal, by rejecting with ABORTED. */
export async function* followChanges(
  from: number | undefined,
  deps: FollowDeps,
): AsyncGenerator<RevisionChanges, void, undefined> {
  let last = from;
  let failures = 0;
  let reached = false;
  for (;;) {
    const connection = new Connection(deps);
    try {
      const { body } = await deps.open(last, connection.signal);
      reached = true;
      for await (const event of connection.events(body)) {
        failures = 0;
        last = event.revision;
        if (event.changes !== undefined) yield { revision: event.revision, changes: event.changes };
      }
    } catch (error) {
      // What fails at first is of the caller: a wrong address, a bucket that is not there.
      if (!reached || deps.signal?.aborted === true || !(connection.silent || isPassing(error))) throw error;
    } finally {
      connection.close();
    }
    await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS), deps.signal);
    failures = Math.min(failures + 1, 10);
  }
}

interface Event {
  readonly revision: number;
  /** Undefined: only where the connection begins. */
  readonly changes: readonly Change[] | undefined;
}

/** One connection, which is given up when it is silent for too long. */
class Connection {
  readonly #aborter = new AbortController();
  readonly #deps: FollowDeps;
  #timer: NodeJS.Timeout | undefined;
  /** It was given up for that. */
  silent = false;

  constructor(deps: FollowDeps) {
    this.#deps = deps;
    this.#heard();
  }

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  async *events(body: ReadableStream<Uint8Array>): AsyncGenerator<Event, void, undefined> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of body) {
      this.#heard();
      text += decoder.decode(piece, { stream: true });
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = parseEvent(text.slice(0, end));
        text = text.slice(end + 2);
        if (event !== undefined) yield event;
      }
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#aborter.abort(new Error('the connection is given up'));
  }

  #heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.silent = true;
      this.#aborter.abort(new Error('nothing was heard of the store'));
    }, this.#deps.silenceMs ?? SILENCE_MS);
  }
}

/** Undefined for a heartbeat, and for what a later version may send. */
function parseEvent(text: string): Event | undefined {
  const fields = new Map(text.split('\n').map((line) => [line.split(':', 1)[0], line.replace(/^[^:]*: ?/, '')]));
  const kind = fields.get('event');
  if (kind !== 'from' && kind !== 'change') return undefined;
  const data = JSON.parse(fields.get('data') ?? '{}') as { revision: number; changes: readonly Change[] };
  return { revision: data.revision, changes: kind === 'change' ? data.changes : undefined };
}

function isPassing(error: unknown): boolean {
  return error instanceof FencedKvError && error.retryable;
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal?.aborted === true) done();
    else signal?.addEventListener('abort', done);
  });
}
