/** Why the process ended, as its exit code says it to scripts. The ensemble's servers use the same numbers. */

export const EXIT_CODE = {
  /** It was asked to stop, or the command is done. */
  clean: 0,
  /** An error that nobody foresaw. Report it. */
  failure: 1,
  /** Wrong usage. Read the message. */
  usage: 2,
  /** The port is in use. Stop the process that has it, or choose another `--listen`. */
  portInUse: 64,
  /** Another process uses the data directory. Stop it, or choose another `--data`. */
  dataDirectoryInUse: 65,
  /** The data is damaged. Restore it from a copy. */
  damagedData: 67,
  /** A read, write or sync failed. Mend or free the disk, then start again. */
  diskError: 68,
} as const;

export type ExitCode = (typeof EXIT_CODE)[keyof typeof EXIT_CODE];

/** Ends the command with a code and one line that says what to do next. */
export class ExitError extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ExitError';
    this.exitCode = exitCode;
  }
}
