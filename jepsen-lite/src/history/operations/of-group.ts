/**
 * What a recorded run did to the keys of a replicated store, as registers that are compared and set. A write that names a revision is a
 * compare-and-set of the value that the key had at it: no two writes of a run have the same value. What a stopped replica has of each key is
 * read last, so that whatever was acknowledged must be there.
 */

import { callsOf, type Call } from '../calls.ts';
import type { History, HistoryEvent } from '../history.ts';
import type { Operation } from './operation.ts';
import { Operations } from './operations.ts';

/** `read`, `write` and `cas` by bucket and key; null: there is none. */
export function keyOperations(history: History): Operation[] {
  const operations = new Operations(history);
  for (const { invoke, completion } of callsOf(history, 'kv-get', 'kv-put', 'kv-delete')) {
    const key = `${invoke.bucket}/${invoke.key}`;
    if (invoke.f === 'kv-get') {
      // One without an answer says nothing.
      if (completion?.type === 'ok' && completion.f === 'kv-get') {
        operations.add({ invoke, completion }, { key, f: 'read', output: completion.value });
      }
      continue;
    }
    const written = invoke.f === 'kv-put' ? invoke.value : null;
    const { expected } = invoke;
    if (expected === undefined) operations.add({ invoke, completion }, { key, f: 'write', input: written });
    else addCompareAndSet(operations, { invoke, completion }, { key, input: [expected.value, written] });
  }
  addKept(operations, history);
  return operations.list;
}

/** Of the first replica: whether the others have the same is another question. */
function addKept(operations: Operations, history: History): void {
  const whole = history.find((event) => event.type === 'kept-all');
  if (whole === undefined) return;
  const kept = new Map<string, Extract<HistoryEvent, { readonly type: 'kept' }>>();
  for (const event of history) {
    if (event.type === 'kept' && event.process === whole.process) kept.set(`${event.bucket}/${event.key}`, event);
  }
  const before = history[history.indexOf(whole) - 1] ?? whole;
  for (const key of new Set(operations.list.flatMap((operation) => operation.key ?? []))) {
    const found = kept.get(key);
    operations.addFound(found ?? before, whole, { key, f: 'read', output: found?.value ?? null });
  }
}

function addCompareAndSet(
  operations: Operations,
  { invoke, completion }: Call<'kv-get' | 'kv-put' | 'kv-delete'>,
  { key, input }: { readonly key: string; readonly input: readonly (string | null)[] },
): void {
  if (completion?.type === 'fail' && completion.code === 'PRECONDITION_FAILED') {
    // That the key had another value is an answer.
    operations.addAnswered({ invoke, completion }, { key, f: 'cas', input, output: false });
  } else {
    operations.add({ invoke, completion }, { key, f: 'cas', input });
  }
}
