/**
 * Keeps to the configuration that the log holds: who is spoken to, what the leader records of the members, and the end of this
 * server's own membership, which the machine hears of once.
 */

import type { Logger } from '@holdfast/runtime';
import type { RaftCore, ServerId } from '../core/index.ts';
import type { ReplicaMachine } from '../machine.ts';
import { ExpelledError } from '../peers/expelled-error.ts';
import type { Expulsion, MembershipView } from '../peers/peer-admission.ts';
import type { PeerMesh } from '../peers/peer-mesh.ts';
import type { PeerNews } from './peer-news.ts';
import type { TurnInbox } from './turn-inbox.ts';

export interface MembershipFollowerParts {
  readonly id: ServerId;
  readonly core: Pick<
    RaftCore,
    'configurationVersion' | 'configuration' | 'committedConfiguration' | 'spokenTo' | 'mayChange'
  >;
  readonly mesh: Pick<PeerMesh, 'update' | 'allTakeConfigurations' | 'newFacts'>;
  readonly inbox: Pick<TurnInbox, 'add'>;
  readonly news: Pick<PeerNews, 'peersChanged'>;
  readonly machine: Pick<ReplicaMachine, 'removed'>;
  readonly logger: Logger;
  failed(error: unknown): void;
}

export class MembershipFollower {
  readonly #parts: MembershipFollowerParts;
  #configurationVersion = -1;
  /** Members may have told what the configuration does not say. */
  #factsUntold = true;
  /** The machine was told. */
  #removed = false;

  constructor(parts: MembershipFollowerParts) {
    this.#parts = parts;
    this.endTurn();
  }

  /** At the end of a turn, when those that leave have been told. */
  endTurn(): void {
    const { core, mesh, news, id } = this.#parts;
    const { configurationVersion } = core;
    if (configurationVersion === this.#configurationVersion) return;
    this.#configurationVersion = configurationVersion;
    const view = membershipView(core);
    mesh.update(view, core.spokenTo);
    this.#factsUntold = true;
    news.peersChanged();
    if (this.#removed || !view.committed.retired.includes(id)) return;
    this.#end(`by entry ${view.latest.index}`);
  }

  /** A peer has introduced itself. */
  introduced(): void {
    this.#factsUntold = true;
    this.#parts.news.peersChanged();
  }

  /** As leader: what members said of themselves goes into the configuration, as soon as it may be changed. */
  addFacts(): void {
    const { core, mesh, inbox } = this.#parts;
    if (!this.#factsUntold || !core.mayChange || !mesh.allTakeConfigurations()) return;
    const facts = mesh.newFacts();
    this.#factsUntold = facts.length > 0;
    if (facts.length > 0) inbox.add({ type: 'member-facts', facts });
  }

  /** A member says that this server has no place in the ensemble any more. */
  expelled(expulsion: Expulsion): void {
    // One that is stopping on its own knows.
    if (this.#removed) return;
    if (expulsion === 'MEMBER_REMOVED') this.#end('a peer says so');
    else this.#parts.failed(new ExpelledError(expulsion, this.#parts.id));
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
