/** Which function applies which of a session's commands, or of those that the leader puts in their place. */

import type { Command } from '@holdfast/protocol';

import { InvariantError } from '../invariant.ts';
import { diskFullReply } from '../replies.ts';
import type { CachedReply } from '../sessions/answer-cost.ts';
import type { Session } from '../sessions/session.ts';
import type { State } from '../state.ts';
import { closeSession } from './end-session.ts';
import { acquire, acquireSeveral, cancel, downgrade, release } from './locks.ts';
import { requestRelease } from './release-requests.ts';
import { revoke } from './revoke.ts';
import { applyNodeCommand } from './nodes/apply.ts';

/** `number`: that of the request. A transaction is applied as it is decoded (nodes/transaction.ts). */
export function applyClientCommand(state: State, session: Session, command: Command, number: number): CachedReply {
  switch (command.type) {
    case 'acquire':
      return acquire(state, session, command);
    case 'acquireSeveral':
    case 'acquireWith':
      return acquireSeveral(state, session, command);
    case 'release':
      return release(state, session, command);
    case 'cancel':
      return cancel(state, session, command);
    case 'downgrade':
      return downgrade(state, session, command);
    case 'revoke':
      return revoke(state, command);
    case 'requestRelease':
      return requestRelease(state, session, command);
    case 'create':
    case 'set':
    case 'delete':
    case 'createNode':
    case 'setNode':
      return applyNodeCommand(state, session, command);
    case 'closeSession':
      return closeSession(state, session, command, number);
    case 'refuse':
      return diskFullReply(command.server);
    case 'attach':
    case 'expireSession':
    case 'raiseStateVersion':
    case 'continueEnd':
    case 'removeUnused':
    case 'enforceRelease':
    case 'endLockDelay':
    case 'transaction':
      throw new InvariantError(`${command.type} is no decoded command of a session`);
  }
}
