/** The parts of one replica's driver, and how they are put together: who tells whom of what. What each does is in its own file. */

import {
  DEFAULT_RAFT_LIMITS,
  RaftCore,
  initialConfiguration,
  type Entry,
  type RaftConfig,
  type RaftEvent,
} from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';
import type { ReplicaMachine } from '../machine.ts';
import type { ReplicaObserver } from '../observer.ts';
import { linkTiming } from '../peers/link-watch.ts';
import { PeerMesh, type PeerMeshEvents, type PeerMeshOptions, type PeerMeshWorld } from '../peers/peer-mesh.ts';
import { ReplicaSnapshots } from '../snapshots/replica-snapshots.ts';
import { DEFAULT_SNAPSHOT_OPTIONS, type SnapshotOptions } from '../snapshots/snapshot-options.ts';
import { ApplyLoop } from './apply-loop.ts';
import { CatchUpReader } from './catch-up-reader.ts';
import { DurableWriter } from './durable-writer.ts';
import { ShutdownTransfer } from './shutdown-transfer.ts';
import { MembershipFollower, membershipView } from './membership-follower.ts';
import { InboundMessages } from './inbound-messages.ts';
import { PendingCalls } from './pending-calls.ts';
import { StageClock } from './stages/stage-clock.ts';
import { StatusTracker } from './status-tracker.ts';
import { TurnInbox } from './turn-inbox.ts';
import { TurnSchedule } from './turn-schedule.ts';
import { Turn } from './turn.ts';

/** `members` are all voters, this server included; `clientAddress` is told to the peers. */
export interface ReplicaOptions extends PeerMeshOptions {
  readonly tuning?: Partial<Omit<RaftConfig, 'id' | 'initial'>>;
  readonly snapshots?: Partial<SnapshotOptions>;
}

export interface ReplicaWorld extends PeerMeshWorld {
  readonly observer?: Partial<ReplicaObserver> | undefined;
}

export interface DriverParts {
  readonly core: RaftCore;
  readonly stages: StageClock;
  readonly schedule: TurnSchedule;
  readonly inbox: TurnInbox;
  readonly writer: DurableWriter;
  readonly mesh: PeerMesh;
  readonly inbound: InboundMessages;
  readonly catchUp: CatchUpReader;
  readonly snapshots: ReplicaSnapshots;
  readonly calls: PendingCalls;
  readonly shutdownTransfer: ShutdownTransfer;
  readonly status: StatusTracker;
  readonly membership: MembershipFollower;
}

/** No turn is taken before the schedule is started. `failed`: nothing more may be done. */
export function createDriverParts(
  options: ReplicaOptions,
  store: LogStore,
  machine: ReplicaMachine,
  world: ReplicaWorld,
  failed: (error: unknown) => void,
): DriverParts {
  const { clock, random, logger, observer } = world;
  observer?.opened?.(store.durable);
  const config = raftConfig(options, random.integer(2 ** 32));
  const core = new RaftCore(config, store.durable, clock.monotonicMs());
  const stages = new StageClock(core, clock, observer?.timed?.bind(observer));
  const schedule = new TurnSchedule({
    clock,
    deadline: () => core.deadline,
    turn: () => turn.take(),
    hasWork: () => inbox.hasWork || inbound.hasWork || applies.hasWork,
    failed,
  });
  const wake = (): void => schedule.wake();
  const inbox = new TurnInbox({ core, stages, wake });
  const event = (one: RaftEvent): void => inbox.event(one);
  const inbound = new InboundMessages({
    inbox,
    machine,
    clock,
    logger,
    knocked: (server) => mesh.knocked(server),
    wake,
  });
  const calls = new PendingCalls(logger);
  const shutdownTransfer = new ShutdownTransfer(clock);
  const writer = new DurableWriter(
    store,
    (seq) => turn.persisted(seq),
    failed,
    () => event({ type: 'disk-worked' }),
  );
  const apply = (entry: Entry): void => {
    snapshots.applied(entry);
    machine.apply(entry);
  };
  const applies = new ApplyLoop({ core, store, clock }, { apply, wake, failed });
  const meshEvents = {
    connected: (peer) => {
      event({ type: 'peer-connected', peer });
      snapshots.peerConnected(peer);
    },
    disconnected: (peer) => {
      event({ type: 'peer-disconnected', peer });
      snapshots.peerLost(peer);
    },
    unreachable: (peer) => inbox.unreachable(peer),
    snapshot: (from, connection) => snapshots.accept(from, connection),
    frame: (from, connection, frame) => inbound.frame(from, connection, frame),
    inboundClosed: (peer) => inbound.inboundClosed(peer),
    handshakeDone: () => membership.handshakeDone(),
    expelled: (voice) => membership.expelled(voice),
    notAdmitted: (peer, reason) => membership.notAdmitted(peer, reason),
  } satisfies PeerMeshEvents;
  const mesh = new PeerMesh(options, linkTiming(config.electionTimeoutMs), membershipView(core), meshEvents, world);
  const fromMemory = core.entries.bind(core);
  const catchUp = new CatchUpReader({ store, clock, fromMemory, event, failed });
  const snapshotOptions = { ...DEFAULT_SNAPSHOT_OPTIONS, ...options.snapshots };
  const snapshots = new ReplicaSnapshots(
    {
      options: snapshotOptions,
      store,
      machine,
      core,
      applies,
      observer,
      route: (peer) => mesh.routeTo(peer),
      event,
      wake,
      failed,
    },
    world,
  );
  const membership = new MembershipFollower({ id: options.id, core, mesh, inbox, inbound, machine, logger, failed });
  const status = new StatusTracker({ core, applies, machine, logger, leaderKnown: () => shutdownTransfer.end() });
  const turn = new Turn({
    clock,
    logger,
    core,
    store,
    machine,
    observer,
    inbox,
    inbound,
    membership,
    stages,
    writer,
    mesh,
    applies,
    catchUp,
    snapshots,
    calls,
    status,
    failed,
  });
  return {
    core,
    stages,
    schedule,
    inbox,
    writer,
    mesh,
    inbound,
    catchUp,
    snapshots,
    calls,
    shutdownTransfer,
    status,
    membership,
  };
}

function raftConfig({ id, members, tuning }: ReplicaOptions, seed: number): RaftConfig {
  return { ...DEFAULT_RAFT_LIMITS, seed, ...tuning, id, initial: initialConfiguration(members) };
}
