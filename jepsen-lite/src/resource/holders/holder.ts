/** A holder as the director of a situation sees it, and what the two say to each other. Times are milliseconds of the machine's monotonic clock. */

import type { Fence } from '../adapters/fence.ts';
import type { Outcome } from '../adapters/resource.ts';
import type { Detour } from '../adapters/url.ts';

/** A and B take the lock in turn; C only looks, and writes with a token that it was given. */
export type HolderName = 'A' | 'B' | 'C';

/**
 * Which connection of the process a call takes: the one that it always had, a second one, one that is opened for this call, or the
 * one on which requests can be held back.
 */
export type Route = 'own' | 'second' | 'new' | 'held back';

export type Call =
  | { readonly type: 'write'; readonly value: string; readonly token: number }
  /** With this text for a token, or none. */
  | { readonly type: 'write-unfenced'; readonly value: string; readonly token: string | undefined }
  | { readonly type: 'install'; readonly token: number }
  | { readonly type: 'read' };

export interface CallOptions {
  /** @default 'own' */
  readonly route?: Route;
  /** When the call is to begin. @default at once */
  readonly at?: number;
}

export interface CallResult {
  readonly calledAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
  /** Of a read that succeeded. */
  readonly value?: string | null;
}

export interface Holder {
  readonly name: HolderName;
  /** Resolves with the token; waits until the lock is free. */
  acquire(): Promise<number>;
  release(): Promise<void>;
  call(call: Call, options?: CallOptions): Promise<CallResult>;
  /** SIGSTOP. What it is told meanwhile it does when it wakes. */
  pause(): void;
  resume(): void;
}

export interface Instructions {
  readonly name: HolderName;
  readonly fence: Fence;
  readonly detour?: Detour;
  readonly servers: readonly string[];
  readonly lock: string;
  readonly sessionTimeoutMs: number;
  readonly callTimeoutMs: number;
}

export type Command =
  | { readonly do: 'open' | 'acquire' | 'release' | 'finish' }
  | { readonly do: 'call'; readonly call: Call; readonly options: CallOptions };

export interface Abilities {
  readonly installs: boolean;
  readonly writesUnfenced: boolean;
}

export interface Request {
  readonly id: number;
  readonly command: Command;
}

export type Reply =
  | { readonly id: number; readonly result: Abilities | CallResult | number | null }
  | { readonly id: number; readonly error: string; readonly input: boolean };

/** One clock for all processes of the machine: `performance.now()` counts from the start of each. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}
