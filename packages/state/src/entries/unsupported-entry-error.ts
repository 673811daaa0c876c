/**
 * An entry that this version cannot apply: an unknown format version, command number or group. Guessing would make this server's state differ from
 * the others', so it must stop; thrown before anything has changed.
 */
export class UnsupportedEntryError extends Error {
  readonly code = 'UNSUPPORTED';
  readonly index: number;

  constructor(index: number, what: string, options?: ErrorOptions) {
    super(
      `the entry at index ${index} ${what}; this version cannot apply it: run the version that the other servers run`,
      options,
    );
    this.name = 'UnsupportedEntryError';
    this.index = index;
  }
}
