/** What an acquire wants of one lock: the checks that are the same for one lock and for several. */

import { MalformedError, type LockRequest, type Packable } from '@holdfast/protocol';

import { readRequest, type LockKind } from '../locks/kinds/lock-kind.ts';
import { lockProblem } from '../locks/lock-name.ts';
import { errorReply, invalidLockReply, unsupportedReply, type ErrorReply } from '../replies.ts';
import type { State } from '../state.ts';

export interface WantedByKind {
  readonly lock: string;
  readonly kind: LockKind;
  readonly request: LockRequest;
}

/** As a command names it. */
interface Named {
  readonly lock: string;
  readonly kind: number;
  readonly parameters?: readonly Packable[] | undefined;
}

/** Or why nobody can have that, whoever holds the lock. */
export function wantedOrError(state: State, asked: Named): WantedByKind | ErrorReply {
  const { lock: name } = asked;
  const kind = state.rules.lockKinds[asked.kind];
  if (kind === undefined) return unsupportedReply(`lock kind ${asked.kind}`, state.version);
  const request = requestOrError(kind, asked.parameters ?? []);
  if (request.type === 'error') return request;
  const problem = lockProblem(name);
  if (problem !== undefined) return invalidLockReply(name, problem);
  const lock = state.locks.get(name);
  if (lock === undefined) return { lock: name, kind, request };
  if (lock.kind !== kind) {
    return errorReply('INVALID_ARGUMENT', `lock ${name} is in use with another kind; use one kind for a lock`);
  }
  const disagreement = lock.first && kind.disagreement(lock.first.request, request);
  if (disagreement !== undefined) return errorReply('INVALID_ARGUMENT', `lock ${name} ${disagreement}`);
  return { lock: name, kind, request };
}

function requestOrError(kind: LockKind, parameters: readonly Packable[]): LockRequest | ErrorReply {
  try {
    return readRequest(kind, parameters);
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    return errorReply('INVALID_ARGUMENT', error.message);
  }
}
