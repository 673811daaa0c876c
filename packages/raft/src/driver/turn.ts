/**
 * One turn of the driver, in its order: what has gathered becomes one step of the core, one frame to each peer and one durable write;
 * then come the applies and the clients' replies. Nothing here waits; when a turn is taken is the schedule's affair.
 */

import type { Clock, Logger } from '@holdfast/runtime';
import type { Effect, Message, RaftCore, RaftEvent, ServerId, WriteSeq } from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';
import type { ReplicaMachine } from '../machine.ts';
import type { ReplicaObserver } from '../observer.ts';
import type { PeerMesh } from '../peers/peer-mesh.ts';
import type { ReplicaSnapshots } from '../snapshots/replica-snapshots.ts';
import type { ApplyLoop } from './apply-loop.ts';
import type { CatchUpReader } from './catch-up-reader.ts';
import type { DurableWriter } from './durable-writer.ts';
import { HeldSends } from './held-sends.ts';
import type { MembershipFollower } from './membership-follower.ts';
import type { InboundMessages } from './inbound-messages.ts';
import type { PendingCalls } from './pending-calls.ts';
import type { StageClock } from './stages/stage-clock.ts';
import type { StatusTracker } from './status-tracker.ts';
import type { TurnInbox } from './turn-inbox.ts';

export interface TurnParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly core: RaftCore;
  readonly store: LogStore;
  readonly machine: ReplicaMachine;
  readonly observer: Partial<ReplicaObserver> | undefined;
  readonly inbox: TurnInbox;
  readonly inbound: InboundMessages;
  readonly membership: MembershipFollower;
  readonly stages: StageClock;
  readonly writer: DurableWriter;
  readonly mesh: PeerMesh;
  readonly applies: ApplyLoop;
  readonly catchUp: CatchUpReader;
  readonly snapshots: ReplicaSnapshots;
  readonly calls: PendingCalls;
  readonly status: StatusTracker;
  /** The turn that began then is over. */
  endTurn(beganAtMs: number): void;
  failed(error: unknown): void;
}

interface CommitNews {
  readonly to: ServerId;
  readonly message: Message;
}

export class Turn {
  readonly #parts: TurnParts;
  readonly #held = new HeldSends((to, message) => this.#send(to, message));
  /** The applied index that was reported to the core. */
  #reportedApplied = 0;

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  take(): void {
    const { clock, core, machine, observer, stages, writer, mesh, applies, status } = this.#parts;
    this.#gather();
    const now = clock.monotonicMs();
    const events = this.#eventsAt(now);
    observer?.stepping?.(events, now);
    const effects = core.step(events, now);
    observer?.stepped?.(effects, core.status);
    stages.stepped(effects, now);
    const commitNews = this.#carryOut(effects);
    this.#held.release();
    status.refresh();
    mesh.flush();
    // Behind the frames: what a commit waits for longest is a follower, and the write costs the leader a moment before it is under way.
    writer.begin();
    applies.run();
    stages.applied(applies.applied);
    status.refresh();
    machine.flush();
    for (const { to, message } of commitNews) this.#send(to, message);
    this.#parts.endTurn(now);
  }

  /** Between turns: what waited for the write leaves at once, since an acknowledgement is what a commit waits for. */
  persisted(seq: WriteSeq): void {
    const { observer, stages, mesh, inbox } = this.#parts;
    observer?.persisted?.(seq);
    stages.persisted(seq);
    this.#held.persisted(seq);
    mesh.flush();
    inbox.eventThatMayWait({ type: 'persisted', seq });
  }

  #gather(): void {
    const { inbox, inbound, membership, applies } = this.#parts;
    inbox.beginTurn();
    inbound.deliver();
    inbox.addProposals();
    // It only lets memory go, so it can wait for the next step.
    if (applies.applied > this.#reportedApplied) {
      this.#reportedApplied = applies.applied;
      // First: a snapshot of it may have become durable meanwhile.
      inbox.addFirst({ type: 'applied', index: applies.applied });
    }
    // Behind the frames of the turn: what the gone leader said last must not bring it back.
    inbox.addGone();
    membership.addFacts();
  }

  #eventsAt(now: number): readonly RaftEvent[] {
    const { inbox, core } = this.#parts;
    if (now >= core.deadline) inbox.add({ type: 'deadline' });
    return inbox.takeEvents();
  }

  /** Returns the news of commits, which leave after the clients' replies. */
  #carryOut(effects: readonly Effect[]): readonly CommitNews[] {
    const { writer, applies, calls, machine, catchUp, snapshots } = this.#parts;
    const commitNews: CommitNews[] = [];
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          writer.persist(effect);
          break;
        case 'send':
          if (effect.after !== undefined) this.#held.hold(effect.to, effect.message, effect.after);
          else if (effect.message.type === 'commit') commitNews.push(effect);
          else this.#send(effect.to, effect.message);
          break;
        case 'apply':
          applies.commit(effect.upTo);
          break;
        case 'read-ready':
          calls.endReads(effect.tickets, effect.index);
          break;
        case 'read-rejected':
          calls.endReads(effect.tickets, effect.reason);
          break;
        case 'proposals-rejected':
          for (const data of effect.commands) machine.proposalRejected(data, effect.reason);
          break;
        case 'lift-vote-ban':
          this.#liftVoteBan();
          break;
        case 'read-entries':
          catchUp.wanted(effect);
          break;
        case 'restore':
          snapshots.restore(effect.position);
          break;
        case 'compact':
          snapshots.compact(effect.upTo);
          break;
        case 'send-snapshot':
          snapshots.send(effect.peer, effect.term);
          break;
        case 'membership-ended':
          calls.endChange(effect);
          break;
        case 'transfer-ended':
          calls.endTransfers(effect);
          break;
      }
    }
    return commitNews;
  }

  #send(to: ServerId, message: Message): void {
    this.#parts.observer?.sending?.(to, message);
    this.#parts.mesh.send(to, message);
  }

  #liftVoteBan(): void {
    const { store, logger } = this.#parts;
    store.liftVoteBan().then(
      () => logger.info({}, 'the log has again what it had lost: this server votes'),
      (error: unknown) => this.#parts.failed(error),
    );
  }
}
