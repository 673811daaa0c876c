/**
 * Evidence that log which was acknowledged is lost or altered. A server with such a log must not vote: with it a majority could
 * elect a leader that lacks committed entries. Where others have the log it is repaired under a ban on voting (repair.ts); else the server
 * stops, and an operator decides.
 */

export class DamagedLogError extends Error {
  readonly code = 'DAMAGED_LOG';
  readonly file: string;
  readonly offset: number;
  readonly reason: string;
  /** Files that this log did not make: they are nobody's to cut. */
  readonly foreign: boolean;

  constructor(file: string, offset: number, reason: string, options?: ErrorOptions & { readonly foreign?: boolean }) {
    super(
      `${file} is damaged at byte ${offset}: ${reason}. Acknowledged log may be lost, so this server does not start. ` +
        'Restore the file if an intact copy of this very state exists; otherwise keep the directory for inspection and replace the ' +
        'server by a new one with a new id (an emptied directory under the old id could vote for a leader that lacks committed entries)',
      options,
    );
    this.name = 'DamagedLogError';
    this.file = file;
    this.offset = offset;
    this.reason = reason;
    this.foreign = options?.foreign ?? false;
  }
}
