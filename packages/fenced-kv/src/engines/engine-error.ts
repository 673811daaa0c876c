/** Failures of the store itself, as opposed to refusals (refusal.ts). */

export type EngineErrorCode =
  /** A write or a sync failed; the engine is out of use until the process starts again. */
  | 'DISK_ERROR'
  /** What is on disk is not what was written. */
  | 'DAMAGED_DATA'
  /** Too many writes wait for a commit. Nothing of this one happened; try again later. */
  | 'OVERLOADED'
  /** The engine was closed; nothing of the call happened. */
  | 'CLOSED';

export class EngineError extends Error {
  readonly code: EngineErrorCode;
  /** The write may be on disk, or may come back at the next start. */
  readonly indeterminate: boolean;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions & { readonly indeterminate?: boolean }) {
    super(message, options);
    this.name = 'EngineError';
    this.code = code;
    this.indeterminate = options?.indeterminate ?? false;
  }
}

export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
