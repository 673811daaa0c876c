/** What a cluster and its servers may be called, and the list of them as it is typed. */

import { addressProblem } from './address.ts';
import { UsageError } from './settings.ts';

const MAX_CLUSTER_ID_LENGTH = 100;
export const MAX_SERVER_ID = 2 ** 31 - 1;

export interface NamedMember {
  readonly id: number;
  readonly peerAddress: string;
}

/** Undefined for one that can be. */
export function clusterIdProblem(clusterId: string): string | undefined {
  if (clusterId.length <= MAX_CLUSTER_ID_LENGTH && /^[\w.-]+$/.test(clusterId)) return undefined;
  return `must be up to ${MAX_CLUSTER_ID_LENGTH} letters, digits, dots, dashes and underscores`;
}

/**
 * By ascending id. `cluster`: what the giver calls the list.
 * @throws UsageError
 */
export function memberList(text: string, cluster: string): readonly NamedMember[] {
  const list = text.split(',').map((part) => {
    const [, number = '', peerAddress = ''] = /^\s*(\d{1,10})=(.*?)\s*$/.exec(part) ?? [];
    const valid = Number(number) >= 1 && Number(number) <= MAX_SERVER_ID;
    const problem = valid ? addressProblem(peerAddress, 'dial') : 'must be number=host:port, the number from 1';
    if (problem !== undefined) throw new UsageError(`${cluster}: "${part}" ${problem}`);
    return { id: Number(number), peerAddress };
  });
  for (const [position, member] of list.entries()) {
    if (list.findIndex((other) => other.id === member.id) !== position) {
      throw new UsageError(`${cluster} names server ${member.id} twice`);
    }
    if (list.findIndex((other) => other.peerAddress === member.peerAddress) !== position) {
      throw new UsageError(`${cluster} names the address ${member.peerAddress} twice`);
    }
  }
  return list.toSorted((a, b) => a.id - b.id);
}
