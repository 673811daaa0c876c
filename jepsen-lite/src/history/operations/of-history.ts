/**
 * What a recorded run did to nodes and to the fenced store, as operations on independent objects for the linearizability checker: nodes and
 * lists by path, keys of the store by bucket and key. Locks are of-locks.ts'. What only the servers saw is left out: this is the view from
 * outside.
 */

import { callsOf } from '../calls.ts';
import type { History } from '../history.ts';
import { appendedBy, elementsOf, isListPath } from '../list-nodes.ts';
import { isRegisterPath } from '../register-paths.ts';
import type { Operation } from './operation.ts';
import { Operations } from './operations.ts';

/** `write` and `read` of nodes and of keys of the store; null: there is none. Reads of a weaker consistency say nothing here. Nodes that change together, or go by themselves, are no registers. */
export function registerOperations(history: History): Operation[] {
  const operations = new Operations(history);
  for (const { invoke, completion } of callsOf(history, 'create', 'set', 'delete', 'put', 'read', 'get')) {
    const key = 'path' in invoke ? invoke.path : `${invoke.bucket}/${invoke.key}`;
    if ('path' in invoke && !isRegisterPath(invoke.path)) continue;
    if (invoke.f === 'read' || invoke.f === 'get') {
      if (invoke.f === 'read' && invoke.consistency !== 'linearizable') continue;
      const read = completion?.type === 'ok' && 'value' in completion ? completion.value : null;
      operations.add({ invoke, completion }, { key, f: 'read', output: read });
    } else {
      const written = 'value' in invoke ? invoke.value : null;
      operations.add({ invoke, completion }, { key, f: 'write', input: written });
    }
  }
  return operations.list;
}

/** `append` and `read` of the lists that are kept in nodes. */
export function listOperations(history: History): Operation[] {
  const operations = new Operations(history);
  for (const { invoke, completion } of callsOf(history, 'set', 'read')) {
    const { path: key } = invoke;
    if (!isListPath(key)) continue;
    if (invoke.f === 'set') {
      operations.add({ invoke, completion }, { key, f: 'append', input: appendedBy(invoke) });
    } else if (invoke.consistency === 'linearizable') {
      const found = completion?.type === 'ok' && completion.f === 'read' ? elementsOf(completion.value ?? '') : null;
      operations.add({ invoke, completion }, { key, output: found });
    }
  }
  return operations.list;
}
