/** What operators ask a server to do, beside commands and queries: asked with `admin`, answered with `admin-answer`. */

import { errorCodeFromWire, errorCodeToWire, type ErrorCode } from './error-code.ts';
import { MAX_MESSAGE_LENGTH } from './limits.ts';
import { MalformedError } from './malformed-error.ts';
import {
  memberChangeToTuple,
  memberSummaryToTuple,
  readMemberChange,
  readMemberSummary,
  type MemberChange,
  type MemberSummary,
} from './members.ts';
import type { Packable, TupleReader } from './pack.ts';

/** Asking again for what has come to be is answered like the first time. */
export type AdminOperation =
  /** `server` 0: whoever is best. */
  | { readonly type: 'transfer'; readonly server: number }
  /** `local`: as the server that is asked knows them, leader or not; otherwise as the leader does. */
  | { readonly type: 'members'; readonly local: boolean }
  | { readonly type: 'change-members'; readonly change: MemberChange };

export type AdminAnswer =
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }
  /** `server` leads now. */
  | { readonly type: 'transferred'; readonly server: number }
  /**
   * As the leader knows them, after a change that was asked for; or as one server does, `leader` 0 while it knows none. `index`: up to
   * which the server that says so has applied the log; 0 from one that does not tell.
   */
  | {
      readonly type: 'members';
      readonly leader: number;
      readonly members: readonly MemberSummary[];
      readonly index: number;
    };

const OperationType = { transfer: 1, members: 2, 'change-members': 3 } as const satisfies Record<
  AdminOperation['type'],
  number
>;
const AnswerType = { error: 0, transferred: 1, members: 2 } as const satisfies Record<AdminAnswer['type'], number>;

export function adminOperationToTuple(operation: AdminOperation): Packable[] {
  const type = OperationType[operation.type];
  switch (operation.type) {
    case 'transfer':
      return [type, operation.server];
    case 'members':
      return operation.local ? [type, true] : [type];
    case 'change-members':
      return [type, memberChangeToTuple(operation.change)];
  }
}

/** @throws MalformedError */
export function readAdminOperation(reader: TupleReader): AdminOperation {
  const type = reader.integer('type');
  switch (type) {
    case OperationType.transfer:
      return { type: 'transfer', server: reader.integer('server') };
    case OperationType.members:
      return { type: 'members', local: reader.remaining > 0 && reader.boolean('local') };
    case OperationType['change-members']:
      return { type: 'change-members', change: readMemberChange(reader.tuple('change')) };
    default:
      throw new MalformedError(`admin operation ${type} is unknown`);
  }
}

export function adminAnswerToTuple(answer: AdminAnswer): Packable[] {
  const type = AnswerType[answer.type];
  switch (answer.type) {
    case 'error':
      return [type, errorCodeToWire(answer.code), answer.message.slice(0, MAX_MESSAGE_LENGTH)];
    case 'transferred':
      return [type, answer.server];
    case 'members':
      return [type, answer.leader, answer.members.map(memberSummaryToTuple), answer.index];
  }
}

/** @throws MalformedError */
export function readAdminAnswer(reader: TupleReader): AdminAnswer {
  const type = reader.integer('type');
  switch (type) {
    case AnswerType.error:
      return {
        type: 'error',
        code: errorCodeFromWire(reader.integer('code')) ?? 'UNSUPPORTED',
        message: reader.string('message', MAX_MESSAGE_LENGTH),
      };
    case AnswerType.transferred:
      return { type: 'transferred', server: reader.integer('server') };
    case AnswerType.members: {
      const leader = reader.integer('leader');
      const members = reader.list('members', readMemberSummary);
      return { type: 'members', leader, members, index: reader.remaining > 0 ? reader.integer('index') : 0 };
    }
    default:
      throw new MalformedError(`admin answer ${type} is unknown`);
  }
}
