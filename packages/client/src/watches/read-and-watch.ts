/**
 * Reads a node and watches it from that very index on. The read travels with the watch, and the server answers it at the index at which it
 * begins to watch. Where this client watches the node already, in the same way, it is read by itself: what is told arrives before an answer
 * that shows it, so that what was told up to the answer's index is left out.
 */

import type { Answer, Query } from '@holdfast/protocol';
import { HoldfastError, LimitExceededError, NotFoundError } from '../errors.ts';
import { errorFromServer } from '../server-error.ts';
import { callQuery } from '../session/channels/read-pipeline.ts';
import type { Session } from '../session/session.ts';
import type { NodeWatch, WatchOptions } from './node-watch.ts';

/**
 * How a node is read and watched in one step.
 *
 * @example
 * const { node, events } = await client.nodes.getAndWatch('/config', { signal: stop.signal });
 */
export interface ReadAndWatchOptions extends Omit<WatchOptions, 'from'> {
  /**
   * `session` shows all that this client has seen, and saves a quorum round.
   * @default 'linearizable'
   */
  readonly consistency?: 'linearizable' | 'session';
}

type WatchedQuery = Extract<Query, { type: 'get' | 'children' }>;
type AnswerTo<Q extends WatchedQuery> = Extract<Answer, { type: Q['type'] }>;

interface ReadAndWatched<Q extends WatchedQuery> {
  /** Undefined: there is no such node. */
  readonly answer: AnswerTo<Q> | undefined;
  /** At which it was as the answer says; every event behind it comes. */
  readonly index: number;
  readonly events: NodeWatch;
}

/** `tooMuch`: what to do instead when it is too much for one answer. The path and the options are good. */
export async function readAndWatch<Q extends WatchedQuery>(
  session: Session,
  query: Q,
  { consistency = 'linearizable', ...options }: ReadAndWatchOptions,
  tooMuch?: () => Promise<AnswerTo<Q>>,
): Promise<ReadAndWatched<Q>> {
  const what = `${query.type} ${query.path}`;
  const events = session.watch(query.path, options, { query, consistency });
  try {
    const started = await events.started;
    const { first } = events;
    let index = first?.index ?? started;
    let answer: Answer | undefined;
    try {
      answer = first?.answer;
      if (answer?.type === 'error') throw errorFromServer(answer.code, `${what}: ${answer.message}`);
      answer ??= await callQuery(session.reads, query, what, {
        ...limitsOf(options),
        consistency,
        onAnswer: (source) => (index = source.index),
      });
    } catch (error) {
      answer = await instead(error, tooMuch);
    }
    events.skipTo(index);
    if (answer !== undefined && answer.type !== query.type) {
      const text = `${what} was answered with ${answer.type}; client and server do not match`;
      throw new HoldfastError(text, { code: 'UNSUPPORTED' });
    }
    return { answer: answer as AnswerTo<Q> | undefined, index, events };
  } catch (error) {
    await events.return();
    throw error;
  }
}

/** Undefined for a node that is not there, which can be watched all the same. */
async function instead(error: unknown, tooMuch: (() => Promise<Answer>) | undefined): Promise<Answer | undefined> {
  if (error instanceof NotFoundError) return undefined;
  if (!(error instanceof LimitExceededError) || tooMuch === undefined) throw error;
  try {
    return await tooMuch();
  } catch (failure) {
    // Gone meanwhile: the events say so.
    if (failure instanceof NotFoundError) return undefined;
    throw failure;
  }
}

function limitsOf({ timeoutMs, signal }: WatchOptions): Pick<WatchOptions, 'timeoutMs' | 'signal'> {
  return { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(signal === undefined ? {} : { signal }) };
}
