/**
 * Coverage marks: situations in which consensus has gone wrong before, in this ensemble or in another. A campaign that never met one of
 * them has said nothing about it. Each is recognised from what the observers of the servers see, and what these write into their logs.
 */

import type { CoreStatus, DurableState, Effect, Entry, RaftEvent, WriteSeq } from '@holdfast/raft';
import type { StateMachine } from '@holdfast/state';
import type { WatchResumes } from '../watch-resumes.ts';

/** One turn of a server's core. */
export interface Step {
  readonly id: number;
  /** By the clock of that server. */
  readonly nowMs: number;
  readonly events: readonly RaftEvent[];
  readonly effects: readonly Effect[];
  /** After the step before; undefined for the first one of a process. */
  readonly before: CoreStatus | undefined;
  readonly after: CoreStatus;
}

/** What recognisers ask about the rest. */
export interface MarkView {
  readonly electionTimeoutMs: number;
  /** Append messages to one peer without an answer. */
  readonly maxInflightMessages: number;
  /** The terms of the entries that a server had in memory before the present step, by index. */
  termsOf(id: number): readonly number[];
  /** How many entries any server has committed. */
  committed(): number;
  /** Of each set a majority decides, by the configuration at the end of that server's log. */
  votersOf(id: number): readonly (readonly number[])[];
  /** Of the simulated TCP: what was sent again and dropped again. */
  retransmissionsLost(): number;
  /** Of the watches of all servers, in all their lives. */
  resumes(): WatchResumes;
  /** Whether a link between two servers is cut, one way at least. */
  apart(): boolean;
}

/** Sees what happens, and calls {@link Hit} where it was one of its marks. */
export interface Recogniser {
  opened?(id: number, durable: DurableState): void;
  stepped?(step: Step): void;
  persisted?(id: number, seq: WriteSeq): void;
  applied?(entry: Entry, state: StateMachine): void;
  /** A line in the log of any process. */
  logged?(message: string): void;
  down?(id: number): void;
}

export const MARKS = {
  'figure-8-commit':
    'a leader knew that a majority had entries of earlier terms which nobody had committed, and committed them behind one of its own',
  'suffix-truncated-after-restart':
    'a server removed entries that a start had found on its disk, for those of a leader',
  'torn-tail-cut': 'a start found a write half done at the end of the log, and cut it off',
  'vote-ban-lifted':
    'a server that had lost what it had acknowledged began under a ban on voting, and a leader ended that',
  'snapshot-superseded': 'a server that was receiving a snapshot let go of it for another one',
  'installed-over-writes': "a server's log was replaced by a snapshot while a write of entries was under way",
  'leader-removed-in-joint': 'a leader that its joint configuration removes committed the one without it',
  'promoted-under-partition': 'a learner became a voter while a link between servers was cut',
  'transfer-timed-out': 'nobody took over leadership within an election timeout',
  'read-dropped-at-step-down': 'a leader stepped down while reads waited for a quorum',
  'window-full': 'a leader had entries for a follower, and as many appends under way to it as may be',
  'pre-vote-refused-by-stickiness': 'a pre-vote was refused for nothing but stickiness to a leader that was heard',
  'fail-over-by-refused-dial': "a server led within an election timeout of when the leader's address had refused it",
  'expiry-across-a-change-of-leader':
    "a session's expiry was proposed by one leader and decided under another one: applied, or lost, so that the session went on",
  'retransmission-backoff':
    'what a connection had sent again was dropped as well, so that the next pause was twice as long',
  'watch-from-history': 'a client came back, and its watches went on from the history of changes',
  'watch-behind-history': 'a client came back whose watches were told only what the nodes still show',
  'watch-over-snapshot': 'a snapshot replaced the state of a server whose clients watched',
  'ttl-due-at-an-election': 'a leader began with a node whose time to live was over by the log, and which is unused',
  'container-refilled-before-removal':
    'a container got a child between the proposal of its removal and the entry, which left it',
} as const;

export type MarkName = keyof typeof MARKS;
/** Hit so often that 300 seeds without one of them show nothing. */
export const FREQUENT_MARKS = [
  'figure-8-commit',
  'suffix-truncated-after-restart',
  'vote-ban-lifted',
  'read-dropped-at-step-down',
  'pre-vote-refused-by-stickiness',
  'fail-over-by-refused-dial',
  'expiry-across-a-change-of-leader',
  'retransmission-backoff',
] as const satisfies readonly MarkName[];

export type MarkCounts = Readonly<Partial<Record<MarkName, number>>>;
export type Hit = (mark: MarkName) => void;
