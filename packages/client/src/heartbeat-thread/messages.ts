/** What the application's thread and the heartbeat thread say to each other, and what both of them see at once. */

import type { DialFailure } from '@holdfast/runtime';

/** Of a dial, which is the name of its connection as well. */
type Id = { readonly id: number };

export type ToThread =
  | (Id & {
      readonly type: 'dial';
      readonly address: string;
      readonly timeoutMs: number;
      readonly acceptedTimeoutMs: number | undefined;
      readonly maxFrameBytes: number;
    })
  | (Id & { readonly type: 'send'; readonly frame: Uint8Array })
  | (Id & { readonly type: 'close'; readonly reason: string | undefined })
  | (Id & { readonly type: 'destroy' })
  | (Id & { readonly type: 'renew'; readonly intervalMs: number; readonly renewed: SharedArrayBuffer });

export type FromThread =
  | (Id & { readonly type: 'dialled'; readonly remoteAddress: string })
  | (Id & {
      readonly type: 'refused';
      readonly failure: DialFailure;
      readonly message: string;
      readonly againInMs: number | undefined;
      readonly accepted: boolean;
    })
  | (Id & { readonly type: 'frame'; readonly frame: Uint8Array })
  | (Id & { readonly type: 'closed'; readonly reason: string });

export interface ThreadOptions {
  /** When the application's thread ran last, in microseconds of `process.hrtime`, which both threads have. */
  readonly alive: SharedArrayBuffer;
  /** For how long it may stand still and be renewed all the same. */
  readonly maxStallMs: number;
}

/** Room for so many 64-bit numbers. */
export function sharedNumbers(count: number): SharedArrayBuffer {
  return new SharedArrayBuffer(count * BigInt64Array.BYTES_PER_ELEMENT);
}

export function nowUs(): bigint {
  return process.hrtime.bigint() / 1_000n;
}
