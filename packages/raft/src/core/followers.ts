/** What a leader knows of its peers. */

import type { CoreState } from './core-state.ts';
import { invariant } from './invariant.ts';
import type { Progress } from './progress.ts';
import type { ServerId } from './types.ts';

export function progressOf(core: CoreState, peer: ServerId): Progress {
  const progress = core.progress.get(peer);
  invariant(progress !== undefined, 'every-peer-has-a-progress');
  return progress;
}
