/** Why a data directory cannot be used. */

export class DataDirectoryInUseError extends Error {
  readonly code = 'DATA_DIRECTORY_IN_USE';
  readonly path: string;

  constructor(path: string, options?: ErrorOptions) {
    super(
      `${path} is in use by another running server: stop that one first, or give this one a directory of its own`,
      options,
    );
    this.name = 'DataDirectoryInUseError';
    this.path = path;
  }
}

export type DataDirectoryErrorCode =
  /** The directory is not empty and not a data directory. */
  | 'FOREIGN_FILES'
  /** Work on an existing directory was asked for, and it is none. */
  | 'NO_IDENTITY'
  /** The directory is new, and the members of its cluster are not known or do not include this server; or they are given though it joins. */
  | 'NO_MEMBERS'
  /** Made by a later version of the program. */
  | 'UNSUPPORTED_FORMAT'
  /** The identity file is not readable, or is missing where there is a log. */
  | 'DAMAGED_IDENTITY';

export class DataDirectoryError extends Error {
  readonly code: DataDirectoryErrorCode;
  readonly path: string;

  constructor(code: DataDirectoryErrorCode, path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DataDirectoryError';
    this.code = code;
    this.path = path;
  }
}
