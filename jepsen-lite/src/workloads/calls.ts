/** The calls of one client: each is recorded when it is made, and when it has ended, with what came of it. */

import {
  ClientClosedError,
  HoldfastError,
  LockLostError,
  SessionExpiredError,
  TimeoutError,
  TransactionFailedError,
} from '@holdfast/client';
import type { FailedEvent, HistoryEventBody, Operation, Outcome } from '../history/history.ts';
import { StoreRefusal, UnansweredError, UnreachableError } from './store.ts';

export interface Recorder {
  /** Of the whole run. */
  nextCall(): number;
  record(process: string, event: HistoryEventBody): void;
}

/** What a call adds to its operation when it had its effect. */
export type Ok = { readonly [K in Outcome['f']]: Omit<Extract<Outcome, { f: K }>, keyof Extract<Operation, { f: K }>> };

/** For a signal, by which a client gives up an acquire. */
export class AbortedByApplication extends Error {}

export class Calls {
  readonly #process: string;
  readonly #recorder: Recorder;
  readonly #open = new Map<number, Operation>();

  constructor(process: string, recorder: Recorder) {
    this.#process = process;
    this.#recorder = recorder;
  }

  /**
   * True when it had its effect. Rejects with an error that nobody has to expect, which is the run's failure: neither does the SDK promise
   * it for any call, nor is it one of these codes of refusals.
   */
  async make<O extends Operation>(
    operation: O,
    run: () => Promise<Ok[O['f']]>,
    refusals: readonly string[] = [],
  ): Promise<boolean> {
    const call = this.#recorder.nextCall();
    this.record({ type: 'invoke', call, ...operation });
    this.#open.set(call, operation);
    try {
      const result = await run();
      this.#open.delete(call);
      this.record({ type: 'ok', call, ...operation, ...result } as HistoryEventBody);
      return true;
    } catch (error) {
      const failure = failureOf(error, refusals);
      this.#open.delete(call);
      if (failure === undefined) throw error;
      this.record({ ...failure, call, ...operation });
      return false;
    }
  }

  record(event: HistoryEventBody): void {
    this.#recorder.record(this.#process, event);
  }

  /** What the process's end leaves: nobody will ever be told. */
  abandon(): void {
    for (const [call, operation] of this.#open) this.record({ type: 'info', call, code: 'CRASHED', ...operation });
    this.#open.clear();
  }
}

/** Undefined for what no application needs to expect. */
export function failureOf(
  error: unknown,
  refusals: readonly string[] = [],
): Pick<FailedEvent, 'type' | 'code' | 'place' | 'highest'> | undefined {
  if (error instanceof AbortedByApplication) return { type: 'fail', code: 'ABORTED' };
  if (error instanceof UnreachableError) return { type: 'fail', code: 'UNREACHABLE' };
  if (error instanceof UnansweredError) return { type: 'info', code: 'UNANSWERED' };
  if (error instanceof StoreRefusal) {
    const highest = error.highest === undefined ? {} : { highest: error.highest };
    return { type: error.indeterminate ? 'info' : 'fail', code: error.code, ...highest };
  }
  if (!(error instanceof HoldfastError) || !isExpected(error, refusals)) return undefined;
  const place = error instanceof TransactionFailedError ? { place: error.operation } : {};
  return { type: error.indeterminate ? 'info' : 'fail', code: error.code, ...place };
}

function isExpected(error: HoldfastError, refusals: readonly string[]): boolean {
  if (error instanceof LockLostError || error instanceof SessionExpiredError) return true;
  if (error instanceof ClientClosedError || error instanceof TimeoutError) return true;
  return error.retryable || refusals.includes(error.code);
}
