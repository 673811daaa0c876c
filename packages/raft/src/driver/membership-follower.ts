/**
 * Keeps to the configuration that the log holds: who is spoken to, what the leader records of the members, and the end of this
 * server's own membership, which the machine hears of once.
 */

import type { Logger } from '@holdfast/runtime';
import type { RaftCore, ServerId } from '../core/index.ts';
import type { ReplicaMachine } from '../machine.ts';
import { ExpelledError } from '../peers/expelled-error.ts';
import { ExpulsionTally, type ExpulsionVoice } from '../peers/expulsion-tally.ts';
import type { MembershipView } from '../peers/peer-admission.ts';
import type { PeerMesh } from '../peers/peer-mesh.ts';
import type { InboundMessages } from './inbound-messages.ts';
import type { TurnInbox } from './turn-inbox.ts';

export interface MembershipFollowerParts {
  readonly id: ServerId;
  readonly core: Pick<
    RaftCore,
    'configurationVersion' | 'configuration' | 'committedConfiguration' | 'replicationTargets' | 'mayChange'
  >;
  readonly mesh: Pick<PeerMesh, 'update' | 'allTakeConfigurations' | 'newFacts'>;
  readonly inbox: Pick<TurnInbox, 'add'>;
  readonly inbound: Pick<InboundMessages, 'peersChanged'>;
  readonly machine: Pick<ReplicaMachine, 'removed'>;
  readonly logger: Logger;
  failed(error: unknown): void;
}

export class MembershipFollower {
  readonly #parts: MembershipFollowerParts;
  readonly #tally: ExpulsionTally;
  /** How often this server was not let in. */
  refusalsHeard = 0;
  #configurationVersion = -1;
  /** Members may have told what the configuration does not say. */
  #factsUntold = true;
  /** The machine was told. */
  #removed = false;

  constructor(parts: MembershipFollowerParts) {
    this.#parts = parts;
    this.#tally = new ExpulsionTally(parts.id);
    this.endTurn();
  }

  /** At the end of a turn, when those that leave have been told. */
  endTurn(): void {
    const { core, mesh, inbound, id } = this.#parts;
    const { configurationVersion } = core;
    if (configurationVersion === this.#configurationVersion) return;
    this.#configurationVersion = configurationVersion;
    const view = membershipView(core);
    mesh.update(view, core.replicationTargets);
    this.#factsUntold = true;
    inbound.peersChanged();
    if (this.#removed) return;
    if (view.committed.retired.includes(id)) this.#end(`by entry ${view.latest.index}`);
    else this.#judge();
  }

  /** A peer has introduced itself. */
  handshakeDone(): void {
    this.#factsUntold = true;
    this.#parts.inbound.peersChanged();
  }

  /** As leader: what members said of themselves goes into the configuration, as soon as it may be changed. */
  addFacts(): void {
    const { core, mesh, inbox } = this.#parts;
    if (!this.#factsUntold || !core.mayChange || !mesh.allTakeConfigurations()) return;
    const facts = mesh.newFacts();
    this.#factsUntold = facts.length > 0;
    if (facts.length > 0) inbox.add({ type: 'member-facts', facts });
  }

  /** A member has dialled this server and says that it has no place in the ensemble any more. */
  expelled(voice: ExpulsionVoice): void {
    const { logger } = this.#parts;
    const { expulsion } = voice.notice;
    logger.warn({ peer: voice.from, expulsion }, 'a member says that the ensemble goes on without this server');
    this.#tally.heard(voice);
    this.#judge();
  }

  /**
   * Whoever has the peer's address says that this server is no member. The port may be another process's by now: it counts for nothing but
   * a line in the log, which comes as seldom as the peer is dialled then.
   */
  notAdmitted(peer: ServerId, reason: string): void {
    this.refusalsHeard += 1;
    this.#parts.logger.warn(
      { peer, reason },
      'a peer does not let this server in; see with "lockctl members", asked of the others, whether it is a member',
    );
  }

  /** One that is stopping on its own knows. */
  #judge(): void {
    const { core, id } = this.#parts;
    const expulsion = this.#removed ? undefined : this.#tally.verdict(membershipView(core));
    if (expulsion === 'MEMBER_REMOVED') this.#end('most of the voters say so');
    else if (expulsion === 'WRONG_INCARNATION') this.#parts.failed(new ExpelledError(expulsion, id));
  }

  /** The machine stops this replica when its clients are elsewhere. */
  #end(how: string): void {
    this.#removed = true;
    this.#parts.logger.warn({ how }, 'this server was removed from the ensemble');
    this.#parts.machine.removed();
  }
}

export function membershipView(core: Pick<RaftCore, 'configuration' | 'committedConfiguration'>): MembershipView {
  return { latest: core.configuration, committed: core.committedConfiguration.configuration };
}
