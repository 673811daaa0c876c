/** Replies and answers that several commands and queries give. */

import { pathProblem, type ErrorCode, type Reply } from '@holdfast/protocol';

import { clipped, flat } from './text.ts';

/** What a message quotes of a request. Errors are cached, too, and a client chooses how many. */
const MAX_QUOTED_LENGTH = 200;
/** Two quotes, and what is said around them. */
const MAX_MESSAGE_LENGTH = 700;

/** Fits replies and answers alike. */
export type ErrorReply = Extract<Reply, { type: 'error' }>;

export const DONE: Reply = { type: 'done' };

/** `message`: what is wrong, with what, and what to do next. */
export function errorReply(code: ErrorCode, message: string): ErrorReply {
  return { type: 'error', code, message: flat(clipped(message, MAX_MESSAGE_LENGTH)) };
}

/** As much of what a client has sent as an error may repeat. */
export function quoted(text: string): string {
  return clipped(text, MAX_QUOTED_LENGTH);
}

export function invalidPathReply(path: string, problem: string): ErrorReply {
  return errorReply('INVALID_ARGUMENT', `invalid path: ${problem}: ${quoted(JSON.stringify(path))}`);
}

export function invalidLockReply(name: string, problem: string): ErrorReply {
  return errorReply('INVALID_ARGUMENT', `invalid lock name: ${problem}: ${quoted(JSON.stringify(name))}`);
}

/** For a path at which no node was found: it may not even be a path. */
export function missingNodeReply(path: string, maxLength: number): ErrorReply {
  const problem = pathProblem(path, false, maxLength);
  return problem === undefined
    ? errorReply('NOT_FOUND', `${quoted(path)} does not exist`)
    : invalidPathReply(path, problem);
}

/** For what would have needed more disk than there is. */
export function diskFullReply(server: number): ErrorReply {
  return errorReply(
    'DISK_FULL',
    `the disk of server ${server} is almost full, so nothing was done: free space there; what gives locks and nodes back still works`,
  );
}

/** For what the state version lacks. @param what a command, or what one asks for, by its number */
export function unsupportedReply(what: string, version: number): ErrorReply {
  return errorReply(
    'UNSUPPORTED',
    `${what} is not of state version ${version}, by which this ensemble applies entries: upgrade all its servers, then try again`,
  );
}
