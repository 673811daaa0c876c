/**
 * The calls of a history: each invocation with what became of it. Of what no proper history has (a second completion, one without
 * an invocation), the first counts and the rest is left to the checker of completions.
 */

import { derived } from './derived.ts';
import type { History, HistoryEvent, OperationName } from './history.ts';

export type EventOf<T extends HistoryEvent['type']> = Extract<HistoryEvent, { readonly type: T }>;
export type InvokeOf<F extends OperationName> = Extract<HistoryEvent, { readonly type: 'invoke'; readonly f: F }>;
export type OkOf<F extends OperationName> = Extract<HistoryEvent, { readonly type: 'ok'; readonly f: F }>;
type FailedOf<F extends OperationName> = Extract<HistoryEvent, { readonly type: 'fail' | 'info'; readonly f: F }>;
export type CompletionOf<F extends OperationName> = OkOf<F> | FailedOf<F>;

export interface Call<F extends OperationName = OperationName> {
  readonly invoke: InvokeOf<F>;
  /** Undefined while the call is open. */
  readonly completion: CompletionOf<F> | undefined;
}

/** A call that had its effect. */
export interface OkCall<F extends OperationName> {
  readonly invoke: InvokeOf<F>;
  readonly ok: OkOf<F>;
}

const allCalls = derived((history): readonly Call[] => {
  const calls = new Map<number, { readonly invoke: Call['invoke']; completion: Call['completion'] }>();
  for (const event of history) {
    if (event.type === 'invoke') {
      if (!calls.has(event.call)) calls.set(event.call, { invoke: event, completion: undefined });
    } else if (isCompletion(event)) {
      const call = calls.get(event.call);
      if (call !== undefined && call.completion === undefined && call.invoke.f === event.f) call.completion = event;
    }
  }
  return [...calls.values()];
});

/** In the order of their invocations; of the named operations only, or of all. */
export function callsOf<F extends OperationName>(history: History, ...names: readonly F[]): readonly Call<F>[] {
  const calls = allCalls(history) as readonly unknown[] as readonly Call<F>[];
  return names.length === 0 ? calls : calls.filter(({ invoke }) => names.includes(invoke.f as F));
}

/** Those that had their effect, as the application was answered. */
export function okCallsOf<F extends OperationName>(history: History, ...names: readonly F[]): OkCall<F>[] {
  const done: OkCall<F>[] = [];
  for (const { invoke, completion } of callsOf(history, ...names)) {
    if (completion?.type === 'ok') done.push({ invoke, ok: completion as OkOf<F> });
  }
  return done;
}

export function isCompletion(event: HistoryEvent): event is EventOf<'ok'> | EventOf<'fail' | 'info'> {
  return event.type === 'ok' || event.type === 'fail' || event.type === 'info';
}
