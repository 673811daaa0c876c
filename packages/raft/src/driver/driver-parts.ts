/**
 * The parts of one replica's driver, and the order in which they hear what happens. What each does is in its own file, what a part may hear
 * in parts/driver-part.ts.
 */

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
import { PeerMesh, type PeerMeshOptions, type PeerMeshWorld } from '../peers/peer-mesh.ts';
import { ReplicaSnapshots } from '../snapshots/replica-snapshots.ts';
import { DEFAULT_SNAPSHOT_OPTIONS, type SnapshotOptions } from '../snapshots/snapshot-options.ts';
import { ApplyLoop } from './apply-loop.ts';
import { CatchUpReader } from './catch-up-reader.ts';
import { DurableWriter } from './durable-writer.ts';
import { ShutdownTransfer } from './shutdown-transfer.ts';
import { MembershipFollower, membershipView } from './membership-follower.ts';
import { InboundMessages } from './inbound-messages.ts';
import { DriverHooks } from './parts/driver-hooks.ts';
import type { DriverPart } from './parts/driver-part.ts';
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
  readonly hooks: DriverHooks;
  readonly core: RaftCore;
  readonly stages: StageClock;
  readonly schedule: TurnSchedule;
  readonly inbox: TurnInbox;
  readonly writer: DurableWriter;
  readonly mesh: PeerMesh;
  readonly inbound: InboundMessages;
  readonly snapshots: ReplicaSnapshots;
  readonly calls: PendingCalls;
  readonly shutdownTransfer: ShutdownTransfer;
  readonly status: StatusTracker;
  readonly membership: MembershipFollower;
}

/**
 * Each part is given what it needs of those above it; what it has to tell the others it tells the hooks. No turn is taken before the
 * schedule is started. `failed`: nothing more may be done.
 */
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
  const hooks = new DriverHooks();
  const schedule = new TurnSchedule({
    clock,
    deadline: () => core.deadline,
    turn: () => hooks.turn(),
    hasWork: () => hooks.hasWork(),
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
    knocked: (server) => hooks.knocked(server),
    wake,
  });
  const calls = new PendingCalls(logger);
  const shutdownTransfer = new ShutdownTransfer(clock);
  const writer = new DurableWriter(
    store,
    (seq) => hooks.persisted(seq),
    failed,
    () => event({ type: 'disk-worked' }),
  );
  const apply = (entry: Entry): void => {
    hooks.applying(entry);
    machine.apply(entry);
  };
  const applies = new ApplyLoop({ core, store, clock }, { apply, wake, failed });
  const mesh = new PeerMesh(options, linkTiming(config.electionTimeoutMs), membershipView(core), hooks, world);
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
    endTurn: (beganAtMs) => hooks.endTurn(beganAtMs),
    failed,
  });

  // Every hook is called in this order. What depends on it:
  const parts: readonly DriverPart[] = [
    { turn: () => turn.take(), persisted: (seq) => turn.persisted(seq), halt: () => schedule.stop() },
    // The core hears of a connection before a snapshot goes over it.
    {
      hasWork: () => inbox.hasWork,
      connected: (peer) => event({ type: 'peer-connected', peer }),
      disconnected: (peer) => event({ type: 'peer-disconnected', peer }),
      unreachable: (peer) => inbox.unreachable(peer),
    },
    {
      hasWork: () => inbound.hasWork,
      frame: (from, connection, frame) => inbound.frame(from, connection, frame),
      inboundClosed: (peer) => inbound.inboundClosed(peer),
    },
    { hasWork: () => applies.hasWork },
    // Those that leave are told in the turn of it, before the membership ends their connections.
    { knocked: (server) => mesh.knocked(server), endTurn: () => mesh.endTurn(), halt: () => mesh.stopSpeaking() },
    {
      connected: (peer) => snapshots.peerConnected(peer),
      disconnected: (peer) => snapshots.peerLost(peer),
      snapshot: (from, connection) => snapshots.accept(from, connection),
      applying: (entry) => snapshots.applied(entry),
      endTurn: () => snapshots.endTurn(),
      halt: () => snapshots.stopSpeaking(),
    },
    { endTurn: (beganAtMs) => catchUp.endTurn(clock.monotonicMs() - beganAtMs), halt: () => catchUp.stop() },
    {
      handshakeDone: () => membership.handshakeDone(),
      expelled: (voice) => membership.expelled(voice),
      notAdmitted: (peer, reason) => membership.notAdmitted(peer, reason),
      endTurn: () => membership.endTurn(),
    },
    { halt: () => calls.stop() },
    { halt: () => shutdownTransfer.end() },
    // Last: what is refused is given back to a machine whose other calls have ended.
    { halt: () => inbox.takeProposals().forEach((data) => machine.proposalRejected(data, 'stopped')) },
  ];
  hooks.install(parts);
  return {
    hooks,
    core,
    stages,
    schedule,
    inbox,
    writer,
    mesh,
    inbound,
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
