/** Every promise, those first whose breach says most: a failure names the first that broke. */

import { answersLiveUntilAcknowledged } from './promises/answers-live-until-acknowledged.ts';
import { attachTellsEverything } from './promises/attach-tells-everything.ts';
import { effectsHappenOnce } from './promises/effects-happen-once.ts';
import { endedSessionsLeaveNothing } from './promises/ended-sessions-leave-nothing.ts';
import { grantsGoToTheLiving } from './promises/grants-go-to-the-living.ts';
import { idleLocksLeaveNothing } from './promises/idle-locks-leave-nothing.ts';
import { limitsAreKept } from './promises/limits-are-kept.ts';
import { malformedCommandsAreAnswered } from './promises/malformed-commands-are-answered.ts';
import { nodesFollowCommands } from './promises/nodes-follow-commands.ts';
import { oneHolder } from './promises/one-holder.ts';
import { onlyOwnersGiveUp } from './promises/only-owners-give-up.ts';
import { queriesTellTheQueues } from './promises/queries-tell-the-queues.ts';
import { queriesTellTheSessions } from './promises/queries-tell-the-sessions.ts';
import { queueNodesShowTheQueue } from './promises/queue-nodes-show-the-queue.ts';
import { queueOrder } from './promises/queue-order.ts';
import { refusalsAreAnswered } from './promises/refusals-are-answered.ts';
import { requestsAreAnswered } from './promises/requests-are-answered.ts';
import { requestsApplyInOrder } from './promises/requests-apply-in-order.ts';
import { retriesGetTheSameAnswer } from './promises/retries-get-the-same-answer.ts';
import { restoredMachinesGoOn } from './promises/restored-machines-go-on.ts';
import { sameOnEveryMachine } from './promises/same-on-every-machine.ts';
import { sessionsEndForAReason } from './promises/sessions-end-for-a-reason.ts';
import { tokensRise } from './promises/tokens-rise.ts';
import { waitersAreServed } from './promises/waiters-are-served.ts';
import type { StatePromise } from './state-promise.ts';

export const PROMISES: readonly (() => StatePromise)[] = [
  oneHolder,
  grantsGoToTheLiving,
  onlyOwnersGiveUp,
  tokensRise,
  queueOrder,
  waitersAreServed,
  requestsApplyInOrder,
  answersLiveUntilAcknowledged,
  retriesGetTheSameAnswer,
  effectsHappenOnce,
  attachTellsEverything,
  sessionsEndForAReason,
  endedSessionsLeaveNothing,
  idleLocksLeaveNothing,
  queueNodesShowTheQueue,
  nodesFollowCommands,
  queriesTellTheQueues,
  queriesTellTheSessions,
  malformedCommandsAreAnswered,
  requestsAreAnswered,
  refusalsAreAnswered,
  limitsAreKept,
  sameOnEveryMachine,
  restoredMachinesGoOn,
];
