/** Notifies every client who leads and who else there is, when that changes, and over what time to spread when that has changed much. */

import type { ReplicaStatus } from '@holdfast/raft';
import type { ServerPart } from '../../machine/server-part.ts';
import type { ClientConnections } from './client-connections.ts';
import type { CrowdSpread } from '../../port/crowd-spread.ts';
import type { EnsembleView } from '../../port/session-port.ts';

export interface EnsembleNewsDeps {
  readonly connections: Pick<ClientConnections, 'size' | 'broadcast'>;
  readonly crowdSpread: CrowdSpread;
  readonly ensemble: EnsembleView;
}

export class EnsembleNews implements ServerPart {
  readonly #deps: EnsembleNewsDeps;
  #leader = 0;

  constructor(deps: EnsembleNewsDeps) {
    this.#deps = deps;
  }

  statusChanged({ leader }: ReplicaStatus): void {
    if (leader === this.#leader) return;
    this.#leader = leader;
    this.#broadcast();
  }

  membersChanged(): void {
    this.#broadcast();
  }

  sessionsChanged(): void {
    if (this.#deps.crowdSpread.outdated) this.#broadcast();
  }

  #broadcast(): void {
    const { connections, crowdSpread, ensemble } = this.#deps;
    if (connections.size === 0) return;
    const { leader, members, term } = ensemble;
    connections.broadcast({ type: 'leader', leader, members, term, spreadMs: crowdSpread.announce() });
  }
}
