/** What a server counts on its hot path: plain numbers, which the metrics read when they are asked. */

import type { ErrorCode } from '@holdfast/protocol';

export class ServerCounters {
  framesIn = 0;
  framesOut = 0;
  /** Requests by what became of them here. */
  requestsReceived = 0;
  requestsReplied = 0;
  requestsRefused = 0;
  resends = 0;
  /** Times that a connection was refused what was more than its share. */
  requestsOverShare = 0;
  attaches = 0;
  entriesApplied = 0;
  entriesProposed = 0;
  /** Proposals that were held for a moment, and how that ended: all who were expected came, or the time was up. */
  proposalsBatched = 0;
  batchesComplete = 0;
  batchesLate = 0;
  entriesForwarded = 0;
  entriesForwardedHere = 0;
  readsAnswered = 0;
  readsRefused = 0;
  /** Turns of the event loop that left reads to the next one. */
  readTurnsCut = 0;
  heartbeatsReceived = 0;
  heartbeatsAcknowledged = 0;
  sessionsExpired = 0;
  /** Containers and nodes with a time to live whose removal was applied. */
  unusedNodesRemoved = 0;
  /** Waits that were ended to break a deadlock. */
  deadlockedWaitsEnded = 0;
  /** Entries whose deadlocks were not looked for to the end, since that would have taken too much. */
  deadlockSearchesCut = 0;
  diskRefusals = 0;
  watchEvents = 0;
  /** Times that recursive watches of a client were told that they have missed something. */
  watchesMissed = 0;
  /** Watch messages that went on from an earlier index, by how they were told what had happened since. */
  watchesFromHistory = 0;
  watchesBehindHistory = 0;
  /** Watching clients over whose heads a snapshot has replaced the state. */
  watchersOverSnapshot = 0;
  readonly goodbyes = new Map<ErrorCode, number>();

  goodbye(code: ErrorCode): void {
    this.goodbyes.set(code, (this.goodbyes.get(code) ?? 0) + 1);
  }
}
