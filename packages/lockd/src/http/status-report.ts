/** What `GET /status` shows: one server's view of itself and its ensemble. Fields are only ever added. */

import type { MemberRole } from '@holdfast/raft';
import type { LockMachine } from '../machine/lock-machine.ts';
import { LOCKD_VERSION } from '../version.ts';

export interface StatusReport {
  readonly id: number;
  readonly clusterId: string;
  readonly version: string;
  /** By which rules entries are applied; the leader raises it when every member knows the next. */
  readonly stateVersion: number;
  readonly role: string;
  readonly term: number;
  /** 0 while unknown. */
  readonly leader: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly lastIndex: number;
  /** Its log has lost what it had acknowledged, and no leader has sent all of it again: it may not vote until then. */
  readonly voteBanned: boolean;
  /** In the configuration that is in force here. */
  readonly members: readonly {
    readonly id: number;
    readonly clientAddress: string;
    readonly peerAddress: string;
    readonly connected: boolean;
    readonly role: MemberRole;
  }[];
  readonly sessions: number;
  readonly locks: number;
  readonly nodes: number;
  /** Client connections of this server, and how many of them serve a session. */
  readonly connections: number;
  readonly boundSessions: number;
  readonly disk: {
    /** Null while it cannot be asked. */
    readonly freeBytes: number | null;
    /** Below this the disk is low. */
    readonly reserveBytes: number;
    readonly low: boolean;
    /** The server for whose disk the leader refuses writes; 0 while they are accepted. */
    readonly writesRefusedFor: number;
  };
}

export function statusReport(
  { id, clusterId }: { readonly id: number; readonly clusterId: string },
  machine: LockMachine,
): StatusReport {
  const { status } = machine;
  const { sessions, locks, nodes } = machine.state.counts;
  return {
    id,
    clusterId,
    version: LOCKD_VERSION,
    stateVersion: machine.state.version,
    role: status.role,
    term: status.term,
    leader: status.leader,
    commitIndex: status.commitIndex,
    appliedIndex: machine.state.appliedIndex,
    lastIndex: status.lastIndex,
    voteBanned: status.voteBanned,
    members: machine.peers.map(({ id: member, clientAddress, peerAddress, connected, role }) => ({
      id: member,
      clientAddress,
      peerAddress,
      connected,
      role,
    })),
    sessions,
    locks,
    nodes,
    connections: machine.connections.size,
    boundSessions: machine.clients.boundSessions,
    disk: {
      freeBytes: machine.disk.freeBytes ?? null,
      reserveBytes: machine.disk.reserveBytes,
      low: machine.disk.low,
      writesRefusedFor: machine.diskGuard.shortOf,
    },
  };
}
