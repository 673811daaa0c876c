/** What can go wrong with a local ensemble as a whole; the message says what to do next. */

export type EnsembleErrorCode =
  /** A program has not been built. */
  | 'NOT_BUILT'
  /** Another launcher uses the data directory. */
  | 'IN_USE'
  /** Another program listens on one of the ports. */
  | 'PORT_IN_USE'
  /** The data belongs to an ensemble of another shape. */
  | 'OTHER_SHAPE'
  /** A server ended before it was ready. */
  | 'SERVER_DIED'
  /** A server was not ready in time, or no leader was elected. */
  | 'NOT_READY';

export class EnsembleError extends Error {
  readonly code: EnsembleErrorCode;

  constructor(code: EnsembleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EnsembleError';
    this.code = code;
  }
}
