/** Replies and answers that several commands and queries give. */

import { pathProblem, type ErrorCode, type Reply } from '@holdfast/protocol';

/** Readers take a longer message for malformed; only what quotes a hostile path comes near. */
const MAX_MESSAGE_LENGTH = 2_000;

/** Fits replies and answers alike. */
export type ErrorReply = Extract<Reply, { type: 'error' }>;

export const DONE: Reply = { type: 'done' };

/** `message`: what is wrong, with what, and what to do next. */
export function errorReply(code: ErrorCode, message: string): ErrorReply {
  return { type: 'error', code, message: message.length > MAX_MESSAGE_LENGTH ? `${clipped(message)}…` : message };
}

export function invalidPathReply(path: string, problem: string): ErrorReply {
  return errorReply('INVALID_ARGUMENT', `invalid path: ${problem}: ${JSON.stringify(path)}`);
}

export function invalidLockReply(name: string, problem: string): ErrorReply {
  return errorReply('INVALID_ARGUMENT', `invalid lock name: ${problem}: ${JSON.stringify(name)}`);
}

/** For a path at which no node was found: it may not even be a path. */
export function missingNodeReply(path: string): ErrorReply {
  const problem = pathProblem(path);
  return problem === undefined ? errorReply('NOT_FOUND', `${path} does not exist`) : invalidPathReply(path, problem);
}

/** Not within a surrogate pair: as text of its own, half of one could not be kept or told. */
function clipped(message: string): string {
  const last = message.charCodeAt(MAX_MESSAGE_LENGTH - 2);
  return message.slice(0, MAX_MESSAGE_LENGTH - ((last & 0xfc00) === 0xd800 ? 2 : 1));
}

/** For what would have needed more disk than there is. */
export function diskFullReply(server: number): ErrorReply {
  return errorReply(
    'DISK_FULL',
    `the disk of server ${server} is almost full, so nothing was done: free space there; what gives locks and nodes back still works`,
  );
}
