/**
 * From which state version on a client's command exists, and a kind of lock. One that the version lacks is answered UNSUPPORTED where it is
 * applied, by the programs that know it as by those that do not: it uses up its number, its session goes on, and no server stops.
 */

import type { Command, CommandName, LockKindNumber } from '@holdfast/protocol';

import { isLockKind } from '../locks/rules/lock-rules.ts';
import { errorReply, type ErrorReply } from '../replies.ts';

/** A later version of the program adds its commands and kinds of locks here, with the version that it raises. */
export interface Introduced {
  readonly commands?: Readonly<Partial<Record<CommandName, number>>>;
  readonly lockKinds?: Readonly<Partial<Record<LockKindNumber, number>>>;
}

/** Since the first version, where nothing is said. */
export const INTRODUCED: Introduced = {};

export function isOf(version: number, name: CommandName, { commands }: Introduced): boolean {
  return (commands?.[name] ?? 0) <= version;
}

/**
 * What the fields of a command ask for that the version lacks; undefined for nothing. Judged when the whole command was read: a program
 * that stopped reading where it knew no further would answer another error than one that knows.
 */
export function missingIn(version: number, command: Command, { lockKinds }: Introduced): string | undefined {
  if (command.type !== 'acquire') return undefined;
  const { kind } = command;
  return isLockKind(kind) && (lockKinds?.[kind] ?? 0) <= version ? undefined : `lock kind ${kind}`;
}

/** @param what a command, or what one asks for, by its number */
export function unsupportedReply(what: string, version: number): ErrorReply {
  return errorReply(
    'UNSUPPORTED',
    `${what} is not of state version ${version}, by which this ensemble applies entries: upgrade all its servers, then try again`,
  );
}
