/**
 * What a user's resource is to this command: something that is written with a token, read, and told of a new holder if it can be. It
 * tells a refusal apart from a failure; whatever is neither taken nor refused has an unknown outcome.
 */

/** What a module gives. */
export interface Resource {
  /** Rejects when the write is refused or fails; a refusal is told by `refused`, a code or a name. */
  write(value: string, token: number): Promise<void>;
  read(): Promise<string | null>;
  /** A new holder announces its token, before it reads. */
  install?(token: number): Promise<void>;
  close?(): Promise<void> | void;
}

export type Outcome =
  | { readonly type: 'taken' }
  | { readonly type: 'refused'; readonly message: string }
  /** It may have taken effect. */
  | { readonly type: 'unknown'; readonly message: string };

/** A resource of any kind, over a connection of its own. */
export interface Connection {
  readonly write: (value: string, token: number) => Promise<Outcome>;
  /** Rejects when it fails. */
  readonly read: () => Promise<string | null>;
  readonly install?: (token: number) => Promise<Outcome>;
  /** A write whose token is this text, or that carries none. */
  readonly writeUnfenced?: (value: string, token: string | undefined) => Promise<Outcome>;
  readonly close: () => Promise<void>;
}

/** What was given as the resource cannot be used: exit code 3. */
export class ResourceInputError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ResourceInputError';
  }
}

/** An error that says so itself: `refused: true`, or a code or name that begins with STALE_TOKEN or StaleToken. */
function isRefusal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { refused, code, name } = error as { refused?: unknown; code?: unknown; name?: unknown };
  return (
    refused === true || [code, name].some((text) => typeof text === 'string' && /^(STALE_TOKEN|StaleToken)/.test(text))
  );
}

export function outcomeOf(error: unknown): Outcome {
  return { type: isRefusal(error) ? 'refused' : 'unknown', message: messageOf(error) };
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // Node gives no message where several addresses of a name were tried.
  return error.message === '' ? (code ?? error.name) : error.message;
}
