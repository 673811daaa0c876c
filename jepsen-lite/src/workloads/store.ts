/** The fenced store, as a client reaches it: over HTTP, or over the connections of a simulated world. */

export type StoreCall =
  | { readonly op: 'fence'; readonly bucket: string; readonly token: number }
  | { readonly op: 'get'; readonly bucket: string; readonly key: string; readonly token?: number }
  | {
      readonly op: 'put';
      readonly bucket: string;
      readonly key: string;
      readonly value: string;
      readonly token?: number;
    };

export type StoreAnswer =
  | { readonly ok: true; readonly value?: string | null }
  /** `indeterminate`: it may have been done all the same. */
  | { readonly ok: false; readonly code: string; readonly highest?: number; readonly indeterminate: boolean };

export interface Store {
  /** Rejects with {@link UnreachableError} or {@link UnansweredError}. */
  call(call: StoreCall): Promise<StoreAnswer>;
}

/** The answer did not come: the call may have been carried out, or may still be. */
export class UnansweredError extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'UnansweredError';
  }
}

/** The call never left. */
export class UnreachableError extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'UnreachableError';
  }
}

/** The store has answered that it did not do it, or that it may not have. */
export class StoreRefusal extends Error {
  readonly code: string;
  readonly indeterminate: boolean;
  readonly highest: number | undefined;

  constructor({ code, indeterminate, highest }: Extract<StoreAnswer, { ok: false }>) {
    super(code);
    this.code = code;
    this.indeterminate = indeterminate;
    this.highest = highest;
  }
}
