/**
 * From which state version on a client's command exists. One that the version lacks is answered UNSUPPORTED where it is applied, by the
 * programs that know it as by those that do not: it uses up its number, its session goes on, and no server stops.
 */

import type { CommandName } from '@holdfast/protocol';

import { errorReply, type ErrorReply } from '../replies.ts';

/** A later version of the program adds its commands here, with the version that it raises. */
export type Introduced = Readonly<Partial<Record<CommandName, number>>>;

/** Since the first version, where nothing is said. */
export const INTRODUCED: Introduced = {};

export function isOf(version: number, name: CommandName, introduced: Introduced): boolean {
  return (introduced[name] ?? 0) <= version;
}

export function unsupportedReply(command: number, version: number): ErrorReply {
  return errorReply(
    'UNSUPPORTED',
    `command ${command} is not of state version ${version}, by which this ensemble applies entries: upgrade all its servers, then try again`,
  );
}
