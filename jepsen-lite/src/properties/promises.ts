/** Every promise, those first whose breach says most: a failure names the first that broke. */

import { acquiresFitTheirLocks } from './promises/locks/acquires-fit-their-locks.ts';
import { answersLiveUntilAcknowledged } from './promises/sessions/answers-live-until-acknowledged.ts';
import { attachReportsEverything } from './promises/sessions/attach-reports-everything.ts';
import { contentionIsReported } from './promises/locks/contention-is-reported.ts';
import { deadlocksAreBroken } from './promises/locks/deadlocks-are-broken.ts';
import { delaysHoldBack } from './promises/locks/delays-hold-back.ts';
import { downgradesKeepTheHold } from './promises/locks/holding/downgrades-keep-the-hold.ts';
import { effectsHappenOnce } from './promises/requests/effects-happen-once.ts';
import { endedSessionsLeaveNothing } from './promises/sessions/ended-sessions-leave-nothing.ts';
import { feedReportsTheTree } from './promises/feed-reports-the-tree.ts';
import { floorsAreTold } from './promises/locks/holding/floors-are-told.ts';
import { grantsGoToTheLiving } from './promises/locks/grants-go-to-the-living.ts';
import { idleLocksLeaveNothing } from './promises/locks/idle-locks-leave-nothing.ts';
import { limitsAreKept } from './promises/limits-are-kept.ts';
import { malformedCommandsAreAnswered } from './promises/requests/malformed-commands-are-answered.ts';
import { nodesFollowCommands } from './promises/nodes-follow-commands.ts';
import { oneHolder } from './promises/locks/holding/one-holder.ts';
import { onlyOwnersGiveUp } from './promises/locks/only-owners-give-up.ts';
import { queriesShowTheQueues } from './promises/locks/queries-show-the-queues.ts';
import { queriesShowTheSessions } from './promises/sessions/queries-show-the-sessions.ts';
import { queueNodesShowTheQueue } from './promises/locks/queue-nodes-show-the-queue.ts';
import { queueOrder } from './promises/locks/queue-order.ts';
import { refusalsAreAnswered } from './promises/requests/refusals-are-answered.ts';
import { releaseRequestsStay } from './promises/locks/release-requests-stay.ts';
import { requestsAreAnswered } from './promises/requests/requests-are-answered.ts';
import { requestsApplyInOrder } from './promises/requests/requests-apply-in-order.ts';
import { retriesGetTheSameAnswer } from './promises/requests/retries-get-the-same-answer.ts';
import { restoredMachinesGoOn } from './promises/restored-machines-go-on.ts';
import { sameOnEveryMachine } from './promises/same-on-every-machine.ts';
import { sessionsEndForAReason } from './promises/sessions/sessions-end-for-a-reason.ts';
import { severalAreHeldTogether } from './promises/locks/holding/several-are-held-together.ts';
import { tokensRise } from './promises/locks/holding/tokens-rise.ts';
import { waitersAreServed } from './promises/locks/waiters-are-served.ts';
import type { StatePromise } from './state-promise.ts';

export const PROMISES: readonly (() => StatePromise)[] = [
  oneHolder,
  grantsGoToTheLiving,
  onlyOwnersGiveUp,
  tokensRise,
  delaysHoldBack,
  queueOrder,
  waitersAreServed,
  severalAreHeldTogether,
  downgradesKeepTheHold,
  deadlocksAreBroken,
  releaseRequestsStay,
  floorsAreTold,
  contentionIsReported,
  acquiresFitTheirLocks,
  requestsApplyInOrder,
  answersLiveUntilAcknowledged,
  retriesGetTheSameAnswer,
  effectsHappenOnce,
  attachReportsEverything,
  sessionsEndForAReason,
  endedSessionsLeaveNothing,
  idleLocksLeaveNothing,
  queueNodesShowTheQueue,
  nodesFollowCommands,
  feedReportsTheTree,
  queriesShowTheQueues,
  queriesShowTheSessions,
  malformedCommandsAreAnswered,
  requestsAreAnswered,
  refusalsAreAnswered,
  limitsAreKept,
  sameOnEveryMachine,
  restoredMachinesGoOn,
];
