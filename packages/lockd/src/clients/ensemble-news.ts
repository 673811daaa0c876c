/** Tells every client who leads and who else there is, when that changes, and over what time to spread when that has changed much. */

import type { Member, ServerMessage } from '@holdfast/protocol';
import type { PeerInfo, ReplicaHandle, ReplicaStatus } from '@holdfast/raft';
import type { ServerPart } from '../machine/server-part.ts';
import type { ClientConnections } from './client-connections.ts';
import type { CrowdSpread } from './crowd-spread.ts';

export interface EnsembleNewsDeps {
  readonly connections: Pick<ClientConnections, 'size' | 'broadcast'>;
  readonly crowdSpread: CrowdSpread;
  handle(): Pick<ReplicaHandle, 'status' | 'peers'>;
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
    this.#tell();
  }

  membersChanged(): void {
    this.#tell();
  }

  /** There is one more, or one less. */
  sessionsChanged(): void {
    if (this.#deps.crowdSpread.outdated) this.#tell();
  }

  #tell(): void {
    const { connections, crowdSpread } = this.#deps;
    if (connections.size === 0) return;
    const { peers, status } = this.#deps.handle();
    const message: ServerMessage = {
      type: 'leader',
      leader: this.#leader,
      members: toldMembers(peers),
      term: status.term,
      spreadMs: crowdSpread.tell(),
    };
    connections.broadcast(message);
  }
}

/** As clients are told of them. */
export function toldMembers(members: readonly PeerInfo[]): readonly Member[] {
  return members.map(({ id, clientAddress }) => ({ server: id, clientAddress }));
}
