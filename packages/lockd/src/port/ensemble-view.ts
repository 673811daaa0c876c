/** What every client should know of the ensemble, read from the parts that know it at the moment of asking. */

import type { Member } from '@holdfast/protocol';
import type { PeerInfo, ReplicaHandle, ServerId } from '@holdfast/raft';
import type { StateMachine } from '@holdfast/state';
import type { Proposals } from '../requests/proposals.ts';
import type { CrowdSpread } from './crowd-spread.ts';
import type { EnsembleView } from './session-port.ts';

export interface EnsembleViewDeps {
  readonly proposals: Pick<Proposals, 'leader'>;
  readonly state: Pick<StateMachine, 'clientFeatures'>;
  readonly crowdSpread: Pick<CrowdSpread, 'ms'>;
  handle(): Pick<ReplicaHandle, 'status' | 'peers'>;
}

export function ensembleView(
  { serverId, clusterId }: { readonly serverId: ServerId; readonly clusterId: string },
  deps: EnsembleViewDeps,
): EnsembleView {
  return {
    server: serverId,
    clusterId,
    get features() {
      return deps.state.clientFeatures;
    },
    get leader() {
      return deps.proposals.leader;
    },
    get term() {
      return deps.handle().status.term;
    },
    get members() {
      return memberList(deps.handle().peers);
    },
    get spreadMs() {
      return deps.crowdSpread.ms;
    },
  };
}

function memberList(members: readonly PeerInfo[]): readonly Member[] {
  return members.map(({ id, clientAddress }) => ({ server: id, clientAddress }));
}
