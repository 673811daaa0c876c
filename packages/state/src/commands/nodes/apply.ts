/** One command on nodes: planned over the state as it is, and made at once. */

import type { Reply } from '@holdfast/protocol';

import type { Session } from '../../sessions/session.ts';
import type { State } from '../../state.ts';
import { commit } from './commit.ts';
import { plan, type NodeCommand } from './plan.ts';

export function applyNodeCommand(state: State, session: Session, command: NodeCommand): Reply {
  const planned = plan(state, session, command);
  return planned.type === 'error' ? planned : commit(state, planned);
}
