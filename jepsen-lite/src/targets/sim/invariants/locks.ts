/**
 * What must hold of sessions and locks at every applied index, judged from what the state answers to queries, not from how it works: one
 * owner at most, grants in queue order and with the index of their entry as the token, tokens that rise, nothing left of an ended session,
 * the same answer to the same request, equal digests on all servers. Also records, in log order, what happened to each wait and hold.
 */

import { isDeepStrictEqual } from 'node:util';
import { commandName, decodeCommand, MalformedError, type QueueEntry, type Reply } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import { decodeEntryHeader, entryPayload, type Output, type StateMachine } from '@holdfast/state';
import type { LogEvent, RemovalReason } from '../../../history/history.ts';
import { mayHoldTogether, mayJoin, requestOf, type Requester } from '../../../models/holders.ts';
import type { Report } from '../../../checkers/violation.ts';

interface Place extends Requester {
  readonly session: number;
  readonly label: string;
  readonly acquireIndex: number;
  readonly token: number;
}

interface DecodedCommand {
  readonly name: string;
  readonly locks: readonly string[];
  readonly ends: 'released' | 'cancelled' | 'other';
}

type OutputOf<T extends Output['type']> = Extract<Output, { type: T }>;

const COMMAND = 1;
/** Trees of more nodes are not walked at every end of a session, which would take time by the square of a long run. */
const SMALL_TREE = 1_000;
const NOTHING: DecodedCommand = { name: 'noop', locks: [], ends: 'other' };

export class LockInvariants {
  readonly #report: Report;
  readonly #record: (event: LogEvent) => void;
  readonly #digests: number[] = [];
  readonly #queues = new Map<string, readonly Place[]>();
  readonly #highestTokens = new Map<string, number>();
  /** Holds that ended with an expired session. */
  readonly #expiredHolds = new Set<number>();
  readonly #living = new Set<number>();
  readonly #ended = new Set<number>();
  readonly #replies = new Map<number, Map<number, Reply>>();
  /** When the tree was last walked, and how many nodes it had. */
  #walked = { index: 0, nodes: 0 };
  /** Commands of clients that were applied, by name; answers from memory not counted. */
  readonly commands = new Map<string, number>();
  repeatedAnswers = 0;

  constructor(report: Report, record: (event: LogEvent) => void) {
    this.#report = report;
    this.#record = record;
  }

  /** Entries that some server has applied. */
  get appliedEntries(): number {
    return this.#digests.length;
  }

  applied(server: number, { index, type, data }: Entry, outputs: readonly Output[], state: StateMachine): void {
    const digest = this.#digests[index - 1];
    if (digest !== undefined) {
      if (digest !== state.digest) {
        this.#report('equal-state-digests', `server ${server} differs from another in what entry ${index} did`);
      }
      return;
    }
    this.#digests.push(state.digest);
    const command = type === COMMAND ? decode(data) : NOTHING;
    for (const output of outputs) this.#heed(index, command, output);
    this.#look(index, command, outputs, state);
  }

  /** A server has a state from a snapshot; it must be what the entries make of it. */
  restored(server: number, index: number, state: StateMachine): void {
    const digest = this.#digests[index - 1];
    if (digest !== state.digest) {
      const problem = `server ${server} restored a snapshot of index ${index} with the digest ${state.digest}, not ${digest}`;
      this.#report('snapshots-hold-the-state', problem);
    }
    if (index !== this.#digests.length) return;
    for (const [lock, queue] of this.#queues) {
      const restored = queueOf(state, lock);
      if (isDeepStrictEqual(restored, queue)) continue;
      const problem = `server ${server} restored a snapshot of index ${index} in which lock ${lock} has ${text(restored)}, not ${text(queue)}`;
      this.#report('snapshots-hold-the-state', problem);
    }
    this.#checkSums(index, state);
  }

  /** `assertHeld()` has just passed: nobody may have been granted the lock because the believer's session expired. */
  believed(who: string, lock: string, token: number, hold: number): void {
    const highest = this.#highestTokens.get(lock) ?? 0;
    if (highest > token && this.#expiredHolds.has(hold)) {
      this.#report(
        'nobody-believes-after-expiry',
        `${who} believes in token ${token} of lock ${lock}, which was granted under ${highest} when its session had expired`,
      );
    }
  }

  /** The label of the session that holds the lock. */
  holder(lock: string): string | undefined {
    return this.#queues.get(lock)?.find(({ token }) => token !== 0)?.label;
  }

  /** What is left in the queues, by lock. */
  get queues(): ReadonlyMap<string, readonly Place[]> {
    return this.#queues;
  }

  get livingSessions(): number {
    return this.#living.size;
  }

  #heed(index: number, command: DecodedCommand, output: Output): void {
    switch (output.type) {
      case 'sessionCreated':
        if (this.#living.has(output.session) || this.#ended.has(output.session)) {
          this.#report(
            'a-session-lives-once',
            `session ${output.session} is created by entry ${index} and was there before`,
          );
        }
        this.#living.add(output.session);
        return;
      case 'sessionEnded':
        if (!this.#living.delete(output.session)) {
          this.#report('a-session-lives-once', `session ${output.session} ends by entry ${index} and does not live`);
        }
        this.#ended.add(output.session);
        this.#record({ type: 'ended-session', index, session: output.session, reason: output.reason });
        return;
      case 'reply':
        if (this.#isFirstReply(index, output)) {
          this.commands.set(command.name, (this.commands.get(command.name) ?? 0) + 1);
        }
        return;
      case 'refused':
      case 'attached':
      case 'sessionEnding':
      case 'sessionSurvived':
      case 'endContinued':
      case 'unusedRemoved':
      case 'granted':
      case 'lost':
        return;
    }
  }

  /** A call that was answered once is never answered otherwise; an acquire's answer is the state of its wait, which only goes on. */
  #isFirstReply(index: number, { session, number, reply }: OutputOf<'reply'>): boolean {
    let replies = this.#replies.get(session);
    if (replies === undefined) this.#replies.set(session, (replies = new Map()));
    const before = replies.get(number);
    replies.set(number, reply);
    if (before === undefined) {
      if (replies.size !== number) {
        this.#report(
          'requests-apply-in-number-order',
          `entry ${index} answers request ${number} of session ${session} as its ${replies.size}th`,
        );
      }
      return true;
    }
    this.repeatedAnswers += 1;
    if (isDeepStrictEqual(before, reply) || (before.type === 'acquire' && goesOn(before, reply))) return false;
    this.#report(
      'an-answer-stays',
      `entry ${index} answers request ${number} of session ${session} with ${text(reply)} after ${text(before)}`,
    );
    return false;
  }

  /** Looks at every queue that the entry may have changed, and at the sums for those that it should not have. */
  #look(index: number, command: DecodedCommand, outputs: readonly Output[], state: StateMachine): void {
    const ending = new Map<number, OutputOf<'sessionEnded'>>();
    const touched = new Set(command.locks);
    const losses = new Map<number, RemovalReason>();
    for (const output of outputs) {
      if (output.type === 'granted' || output.type === 'lost') touched.add(output.lock);
      if (output.type === 'lost') losses.set(output.acquireIndex, output.reason);
      if (output.type !== 'sessionEnded') continue;
      ending.set(output.session, output);
      for (const [lock, queue] of this.#queues) {
        if (queue.some((place) => place.session === output.session)) touched.add(lock);
      }
    }
    const reasonOf = (place: Place): RemovalReason => {
      const end = ending.get(place.session);
      if (end !== undefined) return end.reason;
      const loss = losses.get(place.acquireIndex);
      if (loss !== undefined) return loss;
      return command.ends === 'other' ? 'revoked' : command.ends;
    };
    for (const lock of touched) this.#compare(index, lock, queueOf(state, lock), reasonOf);
    this.#checkSums(index, state);
    if (ending.size > 0 && this.#isWalkDue(index)) this.checkNodes(index, state);
  }

  /** What is left of an ended session stays, since nobody is there to remove it: a later walk finds it as well. */
  #isWalkDue(index: number): boolean {
    const { index: before, nodes } = this.#walked;
    return nodes <= SMALL_TREE || index - before >= nodes;
  }

  #compare(index: number, lock: string, now: readonly Place[], reasonOf: (place: Place) => RemovalReason): void {
    const before = this.#queues.get(lock) ?? [];
    const stays = new Map(now.map((place) => [place.acquireIndex, place]));
    for (const place of before) {
      const { session, acquireIndex: hold, token } = place;
      const after = stays.get(hold);
      if (after === undefined) {
        const reason = reasonOf(place);
        if (reason === 'expired') this.#expiredHolds.add(hold);
        this.#record({ type: 'removed', index, lock, session, hold, reason });
      } else if (after.session !== session || (token !== 0 && after.token !== token)) {
        this.#report(
          'a-hold-stays-as-it-is',
          `entry ${index} changes ${text({ session, hold, token })} of lock ${lock} to ${text(after)}`,
        );
      }
    }
    const known = new Set(before.map((place) => place.acquireIndex));
    for (const { session, acquireIndex: hold } of now) {
      if (known.has(hold)) continue;
      if (hold !== index)
        this.#report('acquires-are-named-by-their-entry', `entry ${index} enqueues ${hold} at lock ${lock}`);
      this.#record({ type: 'enqueued', index, lock, session, hold });
    }
    this.#checkQueue(index, lock, now);
    for (const place of now) if (place.token !== 0 && !isHold(before, place)) this.#granted(index, lock, place, now);
    if (now.length === 0) this.#queues.delete(lock);
    else this.#queues.set(lock, now);
  }

  #checkQueue(index: number, lock: string, queue: readonly Place[]): void {
    const holders = queue.filter((place) => place.token !== 0);
    if (!mayHoldTogether(holders)) {
      this.#report('one-owner', `at index ${index} lock ${lock} is held by ${holders.map(text).join(' and ')}`);
    }
    const head = queue.find((place) => place.token === 0);
    if (head !== undefined && mayJoin(holders, head)) {
      this.#report(
        'a-free-lock-is-granted',
        `at index ${index} ${queue.length - holders.length} wait for lock ${lock}, which ${holders.map(text).join(' and ') || 'nobody'} holds`,
      );
    }
    queue.forEach((place, position) => {
      if (!this.#living.has(place.session)) {
        this.#report(
          'an-ended-session-has-nothing',
          `at index ${index} lock ${lock} has ${text(place)}, whose session has ended`,
        );
      }
      const next = queue[position + 1];
      if (next !== undefined && next.acquireIndex <= place.acquireIndex) {
        this.#report(
          'queue-order',
          `at index ${index} lock ${lock} has ${place.acquireIndex} before ${next.acquireIndex}`,
        );
      }
    });
  }

  #granted(index: number, lock: string, place: Place, queue: readonly Place[]): void {
    const { session, acquireIndex: hold, token } = place;
    if (token !== index) {
      this.#report('the-token-is-the-index-of-the-grant', `entry ${index} grants lock ${lock} under token ${token}`);
    }
    const highest = this.#highestTokens.get(lock) ?? 0;
    // Those whom one entry lets hold together share its token.
    const sharing = queue.filter((other) => other.token === token);
    if (token < highest || (token === highest && !mayHoldTogether(sharing))) {
      this.#report('tokens-rise', `entry ${index} grants lock ${lock} under token ${token} after ${highest}`);
    }
    this.#highestTokens.set(lock, token);
    this.#record({ type: 'granted', index, lock, session, hold, token });
  }

  #checkSums(index: number, state: StateMachine): void {
    let holds = 0;
    let waits = 0;
    for (const queue of this.#queues.values()) {
      for (const { token } of queue) {
        if (token === 0) waits += 1;
        else holds += 1;
      }
    }
    const { counts } = state;
    const locks = this.#queues.size;
    const sessions = this.#living.size;
    const agree =
      counts.locks === locks && counts.holds === holds && counts.waits === waits && counts.sessions === sessions;
    if (!agree) {
      const found = { locks: counts.locks, holds: counts.holds, waits: counts.waits, sessions: counts.sessions };
      const expected = { locks, holds, waits, sessions };
      this.#report(
        'the-sums-agree',
        `at index ${index} the state counts ${text(found)}, its queues and sessions show ${text(expected)}`,
      );
    }
  }

  /** Nodes are looked at when a session has ended, and at the end of a log: none may belong to one that does not live. */
  checkNodes(index: number, state: StateMachine): void {
    let nodes = 0;
    const visit = (path: string): void => {
      const listing = state.query({ type: 'children', path });
      if (listing.type !== 'children') return;
      nodes += listing.names.length;
      for (const name of listing.names) {
        const child = path === '/' ? `/${name}` : `${path}/${name}`;
        const node = state.query({ type: 'exists', path: child });
        const owner = node.type === 'exists' ? (node.stat?.ephemeralOwner ?? 0) : 0;
        if (owner !== 0 && !this.#living.has(owner)) {
          this.#report(
            'an-ended-session-has-nothing',
            `at index ${index} node ${child} belongs to session ${owner}, which has ended`,
          );
        }
        visit(child);
      }
    };
    visit('/');
    this.#walked = { index, nodes };
  }
}

/** Whether an acquire that waited or held can be what the later answer says: granted since, or over. */
function goesOn(before: Extract<Reply, { type: 'acquire' }>, now: Reply): boolean {
  if (now.type === 'error') return now.code === 'NOT_HELD';
  return now.type === 'acquire' && now.acquireIndex === before.acquireIndex && before.token === 0;
}

function isHold(queue: readonly Place[], { acquireIndex }: Place): boolean {
  return queue.some((place) => place.acquireIndex === acquireIndex && place.token !== 0);
}

function queueOf(state: StateMachine, lock: string): readonly (QueueEntry & Place)[] {
  const answer = state.query({ type: 'lock', lock });
  if (answer.type !== 'lock') return [];
  const { kind, queue } = answer;
  return queue.map((entry) => ({ ...entry, request: requestOf(kind, entry.parameters) }));
}

function decode(data: Uint8Array): DecodedCommand {
  const name = commandName(decodeEntryHeader(data).command);
  if (name === undefined) return { ...NOTHING, name: 'unknown' };
  try {
    const command = decodeCommand(name, entryPayload(data));
    switch (command.type) {
      case 'acquire':
        return { name, locks: [command.lock], ends: 'other' };
      case 'release':
        return { name, locks: [command.lock], ends: 'released' };
      case 'cancel':
        return { name, locks: [command.lock], ends: 'cancelled' };
      case 'attach':
      case 'closeSession':
      case 'create':
      case 'set':
      case 'delete':
      case 'transaction':
      case 'createNode':
      case 'setNode':
      case 'removeUnused':
      case 'expireSession':
      case 'refuse':
      case 'raiseStateVersion':
      case 'continueEnd':
        return { name, locks: [], ends: 'other' };
    }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    return { ...NOTHING, name };
  }
}

const text = (value: unknown): string => JSON.stringify(value);
