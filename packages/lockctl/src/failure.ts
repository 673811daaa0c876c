/** Errors as one line on standard error that says what to do next, and an exit code. */

import { EXIT_FAILURE, EXIT_LOST, EXIT_NOT_ACQUIRED, EXIT_USAGE } from './exit-code.ts';
import { printableJson, printableLine } from './output/text.ts';

/** A command's own failure, worded for the user. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT_FAILURE) {
    super(message);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}

export class UsageFailure extends CommandFailure {
  constructor(message: string) {
    super(message, EXIT_USAGE);
    this.name = 'UsageFailure';
  }
}

export interface FailureReport {
  readonly message: string;
  readonly exitCode: number;
}

const advice: Readonly<Record<string, string>> = {
  CONNECTION_FAILED: 'is the ensemble running? Name its servers with --servers or HOLDFAST_SERVERS',
  TIMEOUT: 'look at "lockctl status", or allow more with --timeout',
  NO_LEADER: 'a majority of the servers must run; look at "lockctl status"',
  OVERLOADED: 'try again later',
  DISK_FULL: 'free space there; see "lockctl status"',
  TRANSFER_REFUSED: 'look at "lockctl status"',
  MEMBERSHIP_REFUSED: 'look at "lockctl members"',
  MEMBER_EXISTS: 'look at "lockctl members"',
  NODE_EXISTS: 'change it with "lockctl set"',
  BAD_VERSION: 'read the present one with "lockctl stat"',
  NOT_EMPTY: 'delete its children first; see them with "lockctl ls"',
  RESERVED_PATH: 'use another path; locks are made with "lockctl lock", and ended by deleting their queue nodes',
  WRONG_CLUSTER: 'the servers belong to another cluster; check --servers',
  VERSION_MISMATCH: 'use the lockctl of the version of the servers',
  SESSION_EXPIRED: 'run the command again',
};

export type ObjectKind = 'node' | 'lock' | 'session' | 'member';

/** What is there instead of what was not found. */
const listedBy: Readonly<Record<ObjectKind, string>> = {
  node: 'see what is there with "lockctl ls"',
  lock: 'see what is there with "lockctl locks"',
  session: 'see what is there with "lockctl sessions"',
  member: 'see who belongs to the ensemble with "lockctl members"',
};

/** `error` is whatever a command threw; the errors of the SDK carry a `code`. `object`: what the command is about. */
export function reportFailure(error: unknown, object?: ObjectKind): FailureReport {
  if (error instanceof CommandFailure) return { message: oneLine(error.message), exitCode: error.exitCode };
  const message = oneLine(error instanceof Error ? error.message : String(error));
  const code = codeOf(error);
  if (code === 'INVALID_ARGUMENT') return { message, exitCode: EXIT_USAGE };
  const next = code === 'NOT_FOUND' ? object && listedBy[object] : advice[code ?? ''];
  return { message: next === undefined ? message : `${message}; ${next}`, exitCode: EXIT_FAILURE };
}

/** What `--json` writes on standard error: the same, with a code that scripts can rely on. */
export function failureJson({ message, exitCode }: FailureReport, error?: unknown): string {
  const code = codeOf(error) ?? OWN_CODES[exitCode] ?? 'FAILED';
  return printableJson(JSON.stringify({ error: { code, message, exitCode } }));
}

/** Of what lockctl itself found, by how it ends. */
const OWN_CODES: Readonly<Record<number, string>> = {
  [EXIT_USAGE]: 'USAGE',
  [EXIT_NOT_ACQUIRED]: 'NOT_ACQUIRED',
  [EXIT_LOST]: 'LOCK_LOST',
};

/** What kept a lock from being acquired, if it may pass by itself, as a failure that says so by its exit code; otherwise what it was. */
export function temporaryFailure(error: unknown): unknown {
  if (error instanceof CommandFailure || !mayPass(error)) return error;
  return new CommandFailure(reportFailure(error).message, EXIT_NOT_ACQUIRED);
}

function mayPass(error: unknown): boolean {
  if (codeOf(error) === 'SESSION_EXPIRED') return true;
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}

/** What a read that only a leader can answer failed with; with the hint where another server may have an answer. */
export function readFailure(error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined || !LEADERLESS.has(code)) return error;
  return new CommandFailure(`${reportFailure(error).message}, or read what one server has with --stale`);
}

/** Codes of what may be for want of a leader. */
const LEADERLESS: ReadonlySet<string> = new Set(['NO_LEADER', 'LEADER_CHANGED', 'TIMEOUT']);

export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function oneLine(text: string): string {
  return printableLine(text.replaceAll(/\s*\n\s*/g, ' ').replace(/[.;]\s*$/, ''));
}
