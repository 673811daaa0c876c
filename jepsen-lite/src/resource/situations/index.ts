/** The list of situations, in the order in which they are played: first whether the resource works at all. */

import { beforeFirstWrite } from './before-first-write.ts';
import { equalTokens } from './equal-tokens.ts';
import { latePacket } from './late-packet.ts';
import { noToken } from './no-token.ts';
import { ownRepeats } from './own-repeats.ts';
import { pausedHolder } from './paused-holder.ts';
import { race } from './race.ts';
import type { Situation } from './situation.ts';
import { zombie } from './zombie.ts';

export const SITUATIONS: readonly Situation[] = [
  ownRepeats,
  equalTokens,
  pausedHolder,
  zombie,
  latePacket,
  beforeFirstWrite,
  race,
  noToken,
];
