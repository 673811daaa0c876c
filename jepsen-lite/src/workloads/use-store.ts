/** Calls of the fenced store, and of the bucket without a fence, which are recorded. */

import { UNFENCED_BUCKET, type Operation } from '../history/history.ts';
import { StoreRefusal, type StoreCall } from './store.ts';
import type { ClientSession } from './workload.ts';

/** True when it was done; `found` is called with what a `get` found. */
export async function useStore(
  { calls, store }: ClientSession,
  operation: Extract<Operation, { f: 'fence' | 'put' | 'get' }>,
  found?: (value: string | null) => void,
): Promise<boolean> {
  // Under which hold it reads only the history is told.
  const { f, hold: _hold, ...rest } = { hold: undefined, ...operation };
  // The history names the writer's token all the same; the store is not to look at it.
  const sent = operation.bucket === UNFENCED_BUCKET ? { ...rest, token: undefined } : rest;
  return await calls.make(operation, async () => {
    const answer = await store.call({ op: f, ...sent } as StoreCall);
    if (!answer.ok) throw new StoreRefusal(answer);
    const value = answer.value ?? null;
    found?.(value);
    return f === 'get' ? { value } : {};
  });
}
