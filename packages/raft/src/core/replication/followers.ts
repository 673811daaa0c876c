/** What a leader knows of its peers. */

import { invariant } from '../invariant.ts';
import type { Leader } from '../roles/leader.ts';
import type { Progress } from './progress.ts';
import type { ServerId } from '../types.ts';

export function progressOf(leader: Leader, peer: ServerId): Progress {
  const progress = leader.progress.get(peer);
  invariant(progress !== undefined, 'every-peer-has-a-progress');
  return progress;
}
