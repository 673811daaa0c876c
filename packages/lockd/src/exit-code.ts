/** How the process ends, for service managers and operators: one code for each kind of trouble that asks for another action. */

import { DataDirectoryError, ExpelledError } from '@holdfast/raft';
import { DiskError, ListenError } from '@holdfast/runtime';
import { SnapshotError } from '@holdfast/state';

export const ExitCode = {
  clean: 0,
  /** An error that nobody foresaw. */
  unexpected: 1,
  usage: 2,
  portInUse: 64,
  dataDirectoryInUse: 65,
  wrongIdentity: 66,
  damagedData: 67,
  diskError: 68,
  brokenInvariant: 69,
  unsupportedEntry: 70,
  /** Removed from the ensemble: this data directory is of no use any more. */
  removed: 71,
  /** The ensemble knows this server by another data directory, which is lost. */
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
