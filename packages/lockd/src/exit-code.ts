/** How the process ends, for service managers and operators: one code for each kind of trouble that asks for another action. */

import { DataDirectoryError, ExpelledError } from '@holdfast/raft';
import { DiskError, ListenError } from '@holdfast/runtime';
import { SnapshotError } from '@holdfast/state';

export const ExitCode = {
  /** It was asked to stop. */
  clean: 0,
  /** An error that nobody foresaw. Read the log, and report it. */
  unexpected: 1,
  /** Wrong usage, an address that is not this machine's, or a port that this user may not listen on. Read the message. */
  usage: 2,
  /** The port is in use. Stop the process that the message helps to find, or choose another port. */
  portInUse: 64,
  /** Another server runs on the data directory. Stop it, or choose another directory. */
  dataDirectoryInUse: 65,
  /** The data directory belongs to another server or cluster. Check `--data`, `--id` and `--cluster-id`. */
  wrongIdentity: 66,
  /** The data is damaged, and nothing was changed. See `lockd inspect`. */
  damagedData: 67,
  /** A read, write or sync failed, or there is too little room to start. Mend or free the disk, then start again. */
  diskError: 68,
  /** A broken invariant, or a state that differs from the majority's. Keep the data for inspection. */
  brokenInvariant: 69,
  /** An entry or a format that this version does not know. Run the version of the others, or the one that wrote the directory. */
  unsupportedEntry: 70,
  /** This server was removed from the ensemble. Its number is never used again. */
  removed: 71,
  /** The ensemble knows this server by another data directory, which is lost. Replace it by a server with a new number. */
  lostDisk: 72,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

// By name: several packages have an invariant of their own.
const BY_NAME: Readonly<Record<string, ExitCode>> = {
  UsageError: ExitCode.usage,
  DataDirectoryInUseError: ExitCode.dataDirectoryInUse,
  IdentityMismatchError: ExitCode.wrongIdentity,
  DamagedLogError: ExitCode.damagedData,
  InvariantError: ExitCode.brokenInvariant,
  DivergenceError: ExitCode.brokenInvariant,
  UnsupportedEntryError: ExitCode.unsupportedEntry,
};

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof DiskError) return error.code === 'LOCKED' ? ExitCode.dataDirectoryInUse : ExitCode.diskError;
  if (error instanceof ListenError) return listenExitCode(error);
  if (error instanceof ExpelledError) return error.code === 'MEMBER_REMOVED' ? ExitCode.removed : ExitCode.lostDisk;
  if (error instanceof DataDirectoryError) return directoryExitCode(error);
  if (error instanceof SnapshotError) {
    return error.code === 'UNSUPPORTED' ? ExitCode.unsupportedEntry : ExitCode.damagedData;
  }
  if (!(error instanceof Error)) return ExitCode.unexpected;
  return BY_NAME[error.name] ?? (error.cause === undefined ? ExitCode.unexpected : exitCodeOf(error.cause));
}

function listenExitCode(error: ListenError): ExitCode {
  switch (error.code) {
    case 'ADDRESS_IN_USE':
      return ExitCode.portInUse;
    case 'ADDRESS_NOT_AVAILABLE':
    case 'NOT_PERMITTED':
      return ExitCode.usage;
    case 'FAILED':
      return ExitCode.unexpected;
  }
}

function directoryExitCode(error: DataDirectoryError): ExitCode {
  switch (error.code) {
    case 'FOREIGN_FILES':
    case 'NO_IDENTITY':
    case 'NO_MEMBERS':
      return ExitCode.usage;
    case 'UNSUPPORTED_FORMAT':
      return ExitCode.unsupportedEntry;
    case 'DAMAGED_IDENTITY':
      return ExitCode.damagedData;
  }
}
