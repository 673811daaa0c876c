/** The members of the ensemble as operators see and change them. Which change may be made is for the leader to say. */

import { MalformedError } from './malformed-error.ts';
import type { Packable, TupleReader } from './pack.ts';

export type MemberChange =
  | {
      readonly type: 'add';
      readonly server: number;
      readonly peerAddress: string;
      /** Otherwise it becomes a voter by itself once it has caught up. */
      readonly observer: boolean;
      /** That the server prints while it waits to be added. */
      readonly joinSecret: string;
    }
  | { readonly type: 'promote'; readonly server: number }
  | { readonly type: 'remove'; readonly server: number };

/** `leaving`: a voter whose removal is under way. */
export const MEMBER_ROLES = ['voter', 'learner', 'observer', 'leaving'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

export interface MemberSummary {
  readonly server: number;
  readonly role: MemberRole;
  readonly peerAddress: string;
  /** Empty until it has told. */
  readonly clientAddress: string;
  /** The leader has a connection to it. */
  readonly connected: boolean;
}

export const MAX_MEMBER_ADDRESS_LENGTH = 300;
export const MAX_JOIN_SECRET_LENGTH = 100;
/** About what a member takes in an answer. */
export const MAX_MEMBER_BYTES = 32 + 3 * 2 * MAX_MEMBER_ADDRESS_LENGTH;

const ChangeType = { add: 1, promote: 2, remove: 3 } as const satisfies Record<MemberChange['type'], number>;

export function memberChangeToTuple(change: MemberChange): Packable[] {
  const type = ChangeType[change.type];
  if (change.type !== 'add') return [type, change.server];
  return [type, change.server, change.peerAddress, change.observer, change.joinSecret];
}

/** @throws MalformedError */
export function readMemberChange(reader: TupleReader): MemberChange {
  const type = reader.integer('type');
  const server = reader.integer('server');
  switch (type) {
    case ChangeType.add: {
      const peerAddress = reader.string('peerAddress', MAX_MEMBER_ADDRESS_LENGTH);
      const observer = reader.boolean('observer');
      return {
        type: 'add',
        server,
        peerAddress,
        observer,
        joinSecret: reader.string('joinSecret', MAX_JOIN_SECRET_LENGTH),
      };
    }
    case ChangeType.promote:
      return { type: 'promote', server };
    case ChangeType.remove:
      return { type: 'remove', server };
    default:
      throw new MalformedError(`change of members ${type} is unknown`);
  }
}

export function memberSummaryToTuple(member: MemberSummary): Packable[] {
  const { server, role, peerAddress, clientAddress, connected } = member;
  return [server, MEMBER_ROLES.indexOf(role), peerAddress, clientAddress, connected];
}

/** @throws MalformedError */
export function readMemberSummary(reader: TupleReader): MemberSummary {
  const server = reader.integer('server');
  const wire = reader.integer('role');
  const role = MEMBER_ROLES[wire];
  if (role === undefined) throw new MalformedError(`role ${wire} of a member is unknown`);
  return {
    server,
    role,
    peerAddress: reader.string('peerAddress', MAX_MEMBER_ADDRESS_LENGTH),
    clientAddress: reader.string('clientAddress', MAX_MEMBER_ADDRESS_LENGTH),
    connected: reader.boolean('connected'),
  };
}
