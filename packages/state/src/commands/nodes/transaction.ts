/**
 * transaction: its operations are planned one after the other, as they are read, over a draft, in which each sees those before it; then all
 * are made, or none, if one was refused. What they answer is a number each, so that it takes no more than what was asked.
 */

import { MAX_TRANSACTION_BYTES, TransactionReader, type Reply } from '@holdfast/protocol';

import { malformedReply, type DecodedEntry } from '../../entries/decoded-entry.ts';
import { errorReply, unsupportedReply, type ErrorReply } from '../../replies.ts';
import { transactionCost } from '../../sessions/answer-cost.ts';
import type { Session } from '../../sessions/session.ts';
import type { State } from '../../state.ts';
import { forNumbers } from './commit.ts';
import { Draft } from './draft.ts';
import { planOperation } from './plan.ts';

export function transaction(state: State, session: Session, { bytes, start }: DecodedEntry): Reply {
  const draft = new Draft(state);
  let refused: Reply | undefined;
  try {
    const operations = new TransactionReader(bytes, start);
    refused = sizeReply(state, session, operations.remaining, bytes.length - start);
    refused ??= planAll(state, session, draft, operations);
    // Also behind one that is refused: what is malformed is refused as a whole.
    operations.end();
  } catch (error) {
    return malformedReply(error);
  }
  if (refused !== undefined) return refused;
  const results = draft.commit(forNumbers);
  state.locks.grantPending(state.index, state.stamp, state.events);
  return { type: 'transaction', index: state.index, results };
}

/** Undefined when all can be made. */
function planAll(state: State, session: Session, draft: Draft, operations: TransactionReader): Reply | undefined {
  for (let place = 0; operations.remaining > 0; place += 1) {
    const operation = operations.next();
    if (operation.type === 'unknown') return failed(place, unsupportedReply('its operation', state.version));
    const change = planOperation(draft, session, operation);
    if (change.type === 'error') return failed(place, change);
    draft.add(change);
  }
  return undefined;
}

/** The answer is kept until it is acknowledged, and may take what the session has left for that. */
function sizeReply(
  { limits }: State,
  { cache }: Session,
  operations: number,
  payloadBytes: number,
): ErrorReply | undefined {
  if (payloadBytes > MAX_TRANSACTION_BYTES) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `a transaction of ${payloadBytes} bytes is too large, at most ${MAX_TRANSACTION_BYTES}; make several of it`,
    );
  }
  const cost = transactionCost(operations);
  if (cost > Math.max(limits.maxReplyBytesPerSession, limits.leastReplyBytesPerSession)) {
    return errorReply('LIMIT_EXCEEDED', `a transaction of ${operations} operations is too large; make several of it`);
  }
  if (cost <= cache.room) return undefined;
  return errorReply(
    'OVERLOADED',
    `the answer to ${operations} operations takes ${cost} bytes, and ${cache.room} are left for unacknowledged answers of this session; ` +
      'wait for other answers, or make several transactions of it',
  );
}

function failed(operation: number, { code, message }: ErrorReply): Reply {
  return { type: 'transactionFailed', operation, code, message };
}
