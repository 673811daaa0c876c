/** Which function answers which query. Reads change nothing and answer from what has been applied. */

import type { Answer, Query } from '@holdfast/protocol';

import type { State } from '../state.ts';
import { deadlocks, waitingFor } from './deadlocks.ts';
import { lockQueue, locks, verify } from './locks.ts';
import { children, childrenPage, descendants, exists, get } from './nodes.ts';
import { sessions } from './sessions.ts';

/**
 * A slice of the work that must be done before the query is answered; true when it is done. {@link answerQuery} does what is left of it
 * itself, however long that takes.
 */
export function prepareQuery(state: State, query: Query): boolean {
  if (query.type === 'locks') return state.locks.names.prepare();
  if (query.type === 'sessions') return state.sessions.ids.prepare();
  if (query.type === 'deadlocks') return state.deadlocks.prepare(query, state.limits);
  if (query.type !== 'childrenPage' && query.type !== 'descendants') return true;
  const node = state.nodes.find(query.path);
  if (node === undefined) return true;
  if (query.type === 'childrenPage') return state.pages.prepare(node);
  return node === state.nodes.root || state.descendants.prepare(node);
}

export function answerQuery(state: State, query: Query): Answer {
  switch (query.type) {
    case 'get':
      return get(state, query.path);
    case 'exists':
      return exists(state, query.path);
    case 'children':
      return children(state, query.path);
    case 'childrenPage':
      return childrenPage(state, query);
    case 'descendants':
      return descendants(state, query.path);
    case 'verify':
      return verify(state, query.lock, query.acquireIndex);
    case 'locks':
      return locks(state, query);
    case 'lock':
      return lockQueue(state, query.lock);
    case 'sessions':
      return sessions(state, query.after, query.limit);
    case 'deadlocks':
      return deadlocks(state, query);
    case 'waitingFor':
      return waitingFor(state, query);
  }
}
