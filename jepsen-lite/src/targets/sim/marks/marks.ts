/** All recognisers of coverage marks of one run: hands each what it wants to see, and counts what they recognise. */

import type { CoreStatus, DurableState, Effect, Entry, RaftEvent, WriteSeq } from '@holdfast/raft';
import type { Logger } from '@holdfast/runtime';
import type { StateMachine } from '@holdfast/state';
import { ElectionMarks } from './elections.ts';
import { ExpiryMarks } from './expiry.ts';
import { LeadershipMarks } from './leadership.ts';
import type { MarkCounts, MarkName, MarkView, Recogniser } from './mark.ts';
import { MembershipMarks } from './membership.ts';
import { RecoveryMarks } from './recovery.ts';
import { ReplicationMarks } from './replication.ts';
import { UnusedNodeMarks } from './unused-nodes.ts';
import type { WatchResumes } from '../watch-resumes.ts';

function marksOf({ watchesFromHistory, watchesBehindHistory, watchersOverSnapshot }: WatchResumes): MarkCounts {
  return {
    ...(watchesFromHistory > 0 && { 'watch-from-history': watchesFromHistory }),
    ...(watchesBehindHistory > 0 && { 'watch-behind-history': watchesBehindHistory }),
    ...(watchersOverSnapshot > 0 && { 'watch-over-snapshot': watchersOverSnapshot }),
  };
}

interface Begun {
  readonly events: readonly RaftEvent[];
  readonly nowMs: number;
}

export class Marks {
  readonly #view: MarkView;
  readonly #recognisers: readonly Recogniser[];
  readonly #counts = new Map<MarkName, number>();
  /** Steps that have begun, and how each server's core was after the last one, in this life. */
  readonly #begun = new Map<number, Begun>();
  readonly #last = new Map<number, CoreStatus>();
  /** Listens to what the servers log. */
  readonly logger: Logger = {
    debug: () => {},
    info: (_fields, message) => this.#logged(message),
    warn: () => {},
    error: () => {},
    child: () => this.logger,
  };

  constructor(view: MarkView) {
    this.#view = view;
    const hit = (mark: MarkName): void => void this.#counts.set(mark, (this.#counts.get(mark) ?? 0) + 1);
    this.#recognisers = [
      new ElectionMarks(view, hit),
      new LeadershipMarks(hit),
      new ReplicationMarks(view, hit),
      new RecoveryMarks(hit),
      new MembershipMarks(view, hit),
      new ExpiryMarks(hit),
      new UnusedNodeMarks(hit),
    ];
  }

  get counts(): MarkCounts {
    const lost = this.#view.retransmissionsLost();
    const ofNetwork: MarkCounts = lost === 0 ? {} : { 'retransmission-backoff': lost };
    return { ...Object.fromEntries(this.#counts), ...ofNetwork, ...marksOf(this.#view.resumes()) };
  }

  opened(id: number, durable: DurableState): void {
    this.#last.delete(id);
    for (const recogniser of this.#recognisers) recogniser.opened?.(id, durable);
  }

  stepping(id: number, events: readonly RaftEvent[], nowMs: number): void {
    this.#begun.set(id, { events, nowMs });
  }

  /** Before anybody notes what the step did to the log. */
  stepped(id: number, effects: readonly Effect[], after: CoreStatus): void {
    const begun = this.#begun.get(id);
    if (begun === undefined) return;
    const before = this.#last.get(id);
    this.#last.set(id, after);
    const step = { id, ...begun, effects, before, after };
    for (const recogniser of this.#recognisers) recogniser.stepped?.(step);
  }

  persisted(id: number, seq: WriteSeq): void {
    for (const recogniser of this.#recognisers) recogniser.persisted?.(id, seq);
  }

  applied(entry: Entry, state: StateMachine): void {
    for (const recogniser of this.#recognisers) recogniser.applied?.(entry, state);
  }

  down(id: number): void {
    this.#last.delete(id);
    this.#begun.delete(id);
    for (const recogniser of this.#recognisers) recogniser.down?.(id);
  }

  #logged(message: string): void {
    for (const recogniser of this.#recognisers) recogniser.logged?.(message);
  }
}
