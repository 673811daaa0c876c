/** The members of the ensemble as operators see and change them. Which change may be made is for the leader to say. */

import { choiceOr, flag, integer, record, text, type ValueOf } from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';

export const MAX_MEMBER_ADDRESS_LENGTH = 300;
export const MAX_JOIN_SECRET_LENGTH = 100;

const address = text(MAX_MEMBER_ADDRESS_LENGTH);

export const membershipChanges = messages('change of the members', {
  /**
   * `observer`: otherwise it becomes a voter by itself once it has caught up. `joinSecret`: what the server prints while it waits to be
   * added.
   */
  add: message(1, {
    server: integer(),
    peerAddress: address,
    observer: flag(),
    joinSecret: text(MAX_JOIN_SECRET_LENGTH),
  }),
  promote: message(2, { server: integer() }),
  remove: message(3, { server: integer() }),
});

export type MembershipChange = ValueOf<typeof membershipChanges>;

/** `leaving`: a voter whose removal is under way. */
export const MEMBER_ROLES = ['voter', 'learner', 'observer', 'leaving'] as const;
/**
 * `unknown`: one of a later version.
 *
 * @example
 * const { members } = await client.admin.members();
 * const voters = members.filter(({ role }) => role === 'voter');
 */
export type MemberRole = (typeof MEMBER_ROLES)[number] | 'unknown';

export const memberSummary = record({
  server: integer(),
  role: choiceOr(MEMBER_ROLES, 'unknown'),
  peerAddress: address,
  /** Empty until it has told. */
  clientAddress: address,
  /** The leader has a connection to it. */
  connected: flag(),
});

/**
 * A server of the ensemble, as an operator sees it.
 *
 * @example
 * for (const { server, role } of (await client.admin.members()).members) console.log(server, role);
 */
export interface MemberSummary extends ValueOf<typeof memberSummary> {}
