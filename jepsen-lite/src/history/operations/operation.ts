/**
 * A history of operations on any object, as the linearizability checker takes it: what was called, what was answered, and in which
 * order calls and returns came. Files in several formats become these.
 */

import { HistoryFormatError } from '../json-line.ts';

/** What an operation was given or answered. Keywords of EDN are texts. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

export interface OperationEvent {
  /** Of the file, the first is 1. */
  readonly line: number;
  readonly process: string;
  readonly type: 'invoke' | 'ok' | 'fail' | 'info';
  readonly f: string;
  /** Which of several independent objects. */
  readonly key?: string;
  /** Who it was done for, where that is not the process: a client or session that outlives the process. */
  readonly client?: string;
  /** With `invoke` what it was given, with `ok` what was answered. */
  readonly value: Value;
}

/** One that may have had an effect. Of those that failed nothing is left. */
export interface Operation {
  readonly line: number;
  readonly process: string;
  readonly client: string;
  readonly f: string;
  readonly key: string | undefined;
  readonly input: Value;
  /** null while the outcome is unknown. */
  readonly output: Value;
  /** Positions in the history: an operation came before another exactly when it returned at a smaller one. */
  readonly invokedAt: number;
  /** Infinity: nobody knows what became of it; it may take effect at any later time, or never. */
  readonly returnedAt: number;
}

/**
 * Pairs calls and returns. A process does one thing at a time; what it left open, or what ended with `info`, stays open.
 *
 * @throws HistoryFormatError
 */
export function pairEvents(events: Iterable<OperationEvent>): Operation[] {
  const operations: (Operation & { returnedAt: number; output: Value; client: string })[] = [];
  const open = new Map<string, { readonly event: OperationEvent; readonly place: number }>();
  const failed = new Set<number>();
  let position = 0;
  for (const event of events) {
    position += 1;
    const { line, process, type, f, value } = event;
    const call = open.get(process);
    if (type === 'invoke') {
      if (call !== undefined) throw new HistoryFormatError(line, `process ${process} calls ${f}, but ${pending(call)}`);
      open.set(process, { event, place: operations.length });
      operations.push({
        line,
        process,
        client: event.client ?? process,
        f,
        key: event.key,
        input: value,
        output: null,
        invokedAt: position,
        returnedAt: Number.POSITIVE_INFINITY,
      });
      continue;
    }
    if (call === undefined) {
      throw new HistoryFormatError(line, `process ${process} is answered "${type}" of ${f}, which it has not called`);
    }
    if (call.event.f !== f) {
      throw new HistoryFormatError(line, `process ${process} is answered "${type}" of ${f}, but ${pending(call)}`);
    }
    open.delete(process);
    const operation = operations[call.place];
    if (operation === undefined || type === 'info') continue;
    if (type === 'fail') {
      failed.add(call.place);
      continue;
    }
    operation.returnedAt = position;
    operation.output = value;
    operation.client = event.client ?? operation.client;
  }
  return operations.filter((_, place) => !failed.has(place));
}

function pending({ event }: { readonly event: OperationEvent }): string {
  return `${event.f} of line ${event.line} is still open`;
}

/** Equal for equal values. */
export function keyOfValue(value: Value): string {
  if (Array.isArray(value)) return `[${value.map((each: Value) => keyOfValue(each)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value as Readonly<Record<string, Value>>).sort(([left], [right]) =>
      left < right ? -1 : 1,
    );
    return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${keyOfValue(each)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}
