/** What operators ask a server to do, beside commands and queries: asked with `admin`, answered with `admin-answer`. */

import { errorCodeFromWire, errorCodeToWire, type ErrorCode } from './error-code.ts';
import { MAX_MESSAGE_LENGTH } from './limits.ts';
import { MalformedError } from './malformed-error.ts';
import type { Packable, TupleReader } from './pack.ts';

/** `server` 0: whoever is best. Asking again for what has come to be is answered like the first time. */
export type AdminOperation = { readonly type: 'transfer'; readonly server: number };

export type AdminAnswer =
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }
  /** `server` leads now. */
  | { readonly type: 'transferred'; readonly server: number };

const OperationType = { transfer: 1 } as const satisfies Record<AdminOperation['type'], number>;
const AnswerType = { error: 0, transferred: 1 } as const satisfies Record<AdminAnswer['type'], number>;

export function adminOperationToTuple(operation: AdminOperation): Packable[] {
  return [OperationType[operation.type], operation.server];
}

/** @throws MalformedError */
export function readAdminOperation(reader: TupleReader): AdminOperation {
  const type = reader.integer('type');
  if (type !== OperationType.transfer) throw new MalformedError(`admin operation ${type} is unknown`);
  return { type: 'transfer', server: reader.integer('server') };
}

export function adminAnswerToTuple(answer: AdminAnswer): Packable[] {
  const type = AnswerType[answer.type];
  switch (answer.type) {
    case 'error':
      return [type, errorCodeToWire(answer.code), answer.message.slice(0, MAX_MESSAGE_LENGTH)];
    case 'transferred':
      return [type, answer.server];
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
    default:
      throw new MalformedError(`admin answer ${type} is unknown`);
  }
}
