/**
 * What must hold of sessions and locks at every applied index, judged from what the state answers to queries, not from how it works: only
 * owners who may hold a lock together, grants in queue order and with the index of their entry as the token, tokens that rise, several locks
 * that were asked for at once held together, delayed locks granted to nobody, nothing left of an ended session, the same answer to the same
 * request, equal digests on all servers. Also records, in log order, what happened to each wait and hold.
 */

import { isDeepStrictEqual } from 'node:util';
import type { LockRequest, QueueEntry, Reply } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import type { Output, StateMachine } from '@holdfast/state';
import type { LogEvent, RemovalReason } from '../../../history/history.ts';
import { mayHoldTogether, mayJoin, requestOf, type Requester } from '../../../models/holders.ts';
import { locksBeside } from '../../../plan/lock-names.ts';
import type { Report } from '../../../checkers/violation.ts';
import { decodeLockCommand, NO_LOCKS, type LockCommand } from './lock-command.ts';

interface Place extends Requester {
  readonly session: number;
  readonly label: string;
  readonly acquireIndex: number;
  readonly token: number;
}

type OutputOf<T extends Output['type']> = Extract<Output, { type: T }>;

const COMMAND = 1;
/** Trees of more nodes are not walked at every end of a session, which would take time by the square of a long run. */
const SMALL_TREE = 1_000;

export class LockInvariants {
  readonly #report: Report;
  readonly #record: (event: LogEvent) => void;
  readonly #digests: number[] = [];
  readonly #queues = new Map<string, readonly Place[]>();
  readonly #highestTokens = new Map<string, number>();
  /** Acquires of more than one lock, with how many: by acquire index. */
  readonly #several = new Map<number, number>();
  /** Holds that ended with an expired session, by hold and lock. */
  readonly #expiredHolds = new Map<string, Place>();
  /** Locks that are delayed, with the index by which they are. */
  readonly #delays = new Map<string, number>();
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
    const command = type === COMMAND ? decodeLockCommand(data) : NO_LOCKS;
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
    const expired = this.#expiredHolds.get(`${hold} ${lock}`);
    if (expired === undefined || highest <= token) return;
    // Others may have been granted it before, where they may hold it together.
    const holders = (this.#queues.get(lock) ?? []).filter((place) => place.token !== 0);
    if (expired.request.type !== 'mutex' && mayHoldTogether([...holders, expired])) return;
    this.#report(
      'nobody-believes-after-expiry',
      `${who} believes in token ${token} of lock ${lock}, which was granted under ${highest} when its session had expired`,
    );
  }

  /** The label of the session that holds the lock, or of one that holds a lock beside it. */
  holder(lock: string): string | undefined {
    for (const name of locksBeside(lock)) {
      const holder = this.#queues.get(name)?.find(({ token }) => token !== 0);
      if (holder !== undefined) return holder.label;
    }
    return undefined;
  }

  /** What is left in the queues, by lock. */
  get queues(): ReadonlyMap<string, readonly Place[]> {
    return this.#queues;
  }

  get livingSessions(): number {
    return this.#living.size;
  }

  #heed(index: number, command: LockCommand, output: Output): void {
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
      case 'lockDelayed':
        this.#delays.set(output.lock, output.index);
        return;
      case 'lockDelayEnded':
        if (this.#delays.get(output.lock) !== output.index) {
          this.#report('a-delay-ends-once', `entry ${index} ends a delay ${output.index} of lock ${output.lock}`);
        }
        this.#delays.delete(output.lock);
        return;
      case 'refused':
      case 'attached':
      case 'floorRaised':
      case 'contended':
      case 'sessionEnding':
      case 'sessionSurvived':
      case 'endContinued':
      case 'unusedRemoved':
      case 'granted':
      case 'lost':
      case 'releaseRequested':
      case 'releaseEnforced':
      case 'deadlocksSought':
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
  #look(index: number, command: LockCommand, outputs: readonly Output[], state: StateMachine): void {
    const ending = new Map<number, OutputOf<'sessionEnded'>>();
    const touched = new Set(command.locks);
    // Who names an acquire of several locks names one of them.
    const touch = (acquireIndex: number): void => {
      if (!this.#several.has(acquireIndex)) return;
      for (const { lock } of this.#placesOf(acquireIndex)) touched.add(lock);
    };
    if (command.hold !== undefined) touch(command.hold);
    if (command.locks.length > 1) this.#several.set(index, command.locks.length);
    const losses = new Map<number, RemovalReason>();
    for (const output of outputs) {
      if (output.type === 'granted' || output.type === 'lost') {
        touched.add(output.lock);
        touch(output.acquireIndex);
      }
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
    for (const lock of touched) this.#compare(index, command, { lock, now: queueOf(state, lock), reasonOf });
    for (const lock of touched) this.#checkQueue(index, lock, this.#queues.get(lock) ?? []);
    this.#checkSums(index, state);
    if (ending.size > 0 && this.#isWalkDue(index)) this.checkNodes(index, state);
  }

  /** What is left of an ended session stays, since nobody is there to remove it: a later walk finds it as well. */
  #isWalkDue(index: number): boolean {
    const { index: before, nodes } = this.#walked;
    return nodes <= SMALL_TREE || index - before >= nodes;
  }

  #compare(index: number, command: LockCommand, { lock, now, reasonOf }: Changed): void {
    const before = this.#queues.get(lock) ?? [];
    const stays = new Map(now.map((place) => [place.acquireIndex, place]));
    for (const place of before) {
      const { session, acquireIndex: hold, token } = place;
      const after = stays.get(hold);
      if (after === undefined) {
        const reason = reasonOf(place);
        if (reason === 'expired') this.#expiredHolds.set(`${hold} ${lock}`, place);
        this.#record({ type: 'removed', index, lock, session, hold, reason });
      } else if (after.session !== session || (token !== 0 && after.token !== token)) {
        this.#report(
          'a-hold-stays-as-it-is',
          `entry ${index} changes ${text({ session, hold, token })} of lock ${lock} to ${text(after)}`,
        );
      } else if (!isDeepStrictEqual(after.request, place.request)) {
        this.#downgraded(index, command, lock, place, after);
      }
    }
    const known = new Set(before.map((place) => place.acquireIndex));
    for (const { session, acquireIndex: hold, request } of now) {
      if (known.has(hold)) continue;
      if (hold !== index)
        this.#report('acquires-are-named-by-their-entry', `entry ${index} enqueues ${hold} at lock ${lock}`);
      this.#record({ type: 'enqueued', index, lock, session, hold, ...askedBy(request) });
    }
    for (const place of now) if (place.token !== 0 && !isHold(before, place)) this.#granted(index, lock, place, now);
    if (now.length === 0) this.#queues.delete(lock);
    else this.#queues.set(lock, now);
  }

  /** Only whoever writes can ask for less, and keeps the token. */
  #downgraded(index: number, command: LockCommand, lock: string, before: Place, after: Place): void {
    const { session, acquireIndex: hold, token } = before;
    const { request } = before;
    const wrote = token !== 0 && request.type === 'readWrite' && request.write;
    const reads = after.request.type === 'readWrite' && !after.request.write;
    if (command.name !== 'downgrade' || command.hold !== hold || !command.locks.includes(lock) || !wrote || !reads) {
      this.#report(
        'a-hold-stays-as-it-is',
        `entry ${index} (${command.name}) changes ${text(before)} of lock ${lock} to ${text(after)}`,
      );
    }
    this.#record({ type: 'downgraded', index, lock, session, hold });
  }

  #checkQueue(index: number, lock: string, queue: readonly Place[]): void {
    const holders = queue.filter((place) => place.token !== 0);
    if (!mayHoldTogether(holders)) {
      this.#report('one-owner', `at index ${index} lock ${lock} is held by ${holders.map(text).join(' and ')}`);
    }
    const head = queue.find((place) => place.token === 0);
    if (head !== undefined && this.#isGrantable(lock, head)) {
      this.#report(
        'a-free-lock-is-granted',
        `at index ${index} ${queue.length - holders.length} wait for lock ${lock}, which ${holders.map(text).join(' and ') || 'nobody'} holds`,
      );
    }
    queue.forEach((place, position) => {
      this.#checkTogether(index, lock, place);
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

  /** All of them or none, under one token. */
  #checkTogether(index: number, lock: string, place: Place): void {
    const count = this.#several.get(place.acquireIndex);
    if (count === undefined) return;
    const places = this.#placesOf(place.acquireIndex);
    if (places.length === count && places.every((other) => other.place.token === place.token)) return;
    this.#report(
      'several-locks-are-held-together',
      `at index ${index} lock ${lock} has ${text(place)} of ${count} locks that were asked for at once: ${text(places)}`,
    );
  }

  /** Of an acquire, in the queues of all its locks. */
  #placesOf(acquireIndex: number): readonly LockPlace[] {
    const places: LockPlace[] = [];
    for (const [lock, queue] of this.#queues) {
      for (const place of queue) if (place.acquireIndex === acquireIndex) places.push({ lock, place });
    }
    return places;
  }

  /** It is at the head of each of its queues, and might hold each of its locks. */
  #isGrantable(lock: string, head: Place): boolean {
    const { acquireIndex } = head;
    const places = this.#several.has(acquireIndex) ? this.#placesOf(acquireIndex) : [{ lock, place: head }];
    return places.every((each) => {
      if (this.#delays.has(each.lock)) return false;
      const queue = this.#queues.get(each.lock) ?? [];
      const first = queue.find(({ token }) => token === 0);
      const holders = queue.filter(({ token }) => token !== 0);
      return first?.acquireIndex === acquireIndex && mayJoin(holders, each.place);
    });
  }

  #granted(index: number, lock: string, place: Place, queue: readonly Place[]): void {
    const { session, acquireIndex: hold, token, request } = place;
    if (this.#delays.has(lock)) {
      this.#report('a-delayed-lock-is-granted-to-nobody', `entry ${index} grants lock ${lock}, which is delayed`);
    }
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
    this.#record({ type: 'granted', index, lock, session, hold, token, ...askedBy(request) });
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
    // Those that are delayed are kept, though nobody may wait.
    const locks = new Set([...this.#queues.keys(), ...this.#delays.keys()]).size;
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

/** A place in the queue of a lock. */
interface LockPlace {
  readonly lock: string;
  readonly place: Place;
}

/** A queue that an entry may have changed. */
interface Changed {
  readonly lock: string;
  readonly now: readonly Place[];
  readonly reasonOf: (place: Place) => RemovalReason;
}

/** Most locks are mutexes, of which nothing is said. */
function askedBy(request: LockRequest): { readonly asked?: LockRequest } {
  return request.type === 'mutex' ? {} : { asked: request };
}

/** Whether an acquire that waited or held can be what the later answer says: granted since, or over. */
function goesOn(before: Extract<Reply, { type: 'acquire' }>, now: Reply): boolean {
  if (now.type === 'error') return now.code === 'NOT_HELD';
  if (now.type !== 'acquire' || now.acquireIndex !== before.acquireIndex) return false;
  // Of a hold the floor may have risen.
  return before.token === 0 || (now.token === before.token && (now.floor ?? 0) >= (before.floor ?? 0));
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

const text = (value: unknown): string => JSON.stringify(value);
