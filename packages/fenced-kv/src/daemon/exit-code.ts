/** Why the process ended, as its exit code says it to scripts. The ensemble's servers use the same numbers. */

export const EXIT_CODE = {
  clean: 0,
  failure: 1,
  usage: 2,
  portInUse: 64,
  dataDirectoryInUse: 65,
  damagedData: 67,
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
