/** Thrown by every decoder for input that is not what it must be; the message names the field. */
export class MalformedError extends Error {
  readonly code = 'MALFORMED';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MalformedError';
  }
}
