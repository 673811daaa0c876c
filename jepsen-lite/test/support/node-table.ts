/** The nodes of a random world: what each operation does to them, and what it is told. */

import type { HistoryEventBody, Operation } from '../../src/history/history.ts';
import { nameOf, parentOf } from '../../src/history/sequential-nodes.ts';

export class NodeTable {
  /** Names, by parent. */
  readonly #children = new Map<string, readonly string[]>();
  readonly #nodes = new Map<string, { value: string; version: number }>();

  /** Undefined while there is no such node. */
  version(path: string): number | undefined {
    return this.#nodes.get(path)?.version;
  }

  /** Empty while there is no such node. */
  value(path: string): string {
    return this.#nodes.get(path)?.value ?? '';
  }

  apply(operation: Extract<Operation, { readonly path: string }>, call: number): HistoryEventBody {
    const { path } = operation;
    const node = this.#nodes.get(path);
    const refuse = (code: string): HistoryEventBody => ({ type: 'fail', call, ...operation, code });
    switch (operation.f) {
      case 'create':
        if (node !== undefined) return refuse('NODE_EXISTS');
        this.#nodes.set(path, { value: operation.value, version: 0 });
        return { type: 'ok', call, ...operation };
      case 'set':
        if (node === undefined) return refuse('NOT_FOUND');
        if (operation.version !== undefined && operation.version !== node.version) return refuse('BAD_VERSION');
        this.#nodes.set(path, { value: operation.value, version: node.version + 1 });
        return { type: 'ok', call, ...operation, newVersion: node.version + 1 };
      case 'delete':
        if (node === undefined) return refuse('NOT_FOUND');
        if (operation.version !== undefined && operation.version !== node.version) return refuse('BAD_VERSION');
        this.#nodes.delete(path);
        return { type: 'ok', call, ...operation };
      case 'create-sequential': {
        const parent = parentOf(path);
        const before = this.#children.get(parent) ?? [];
        const created = `${path}${String(before.length).padStart(10, '0')}`;
        this.#children.set(parent, [...before, nameOf(created)]);
        return { type: 'ok', call, ...operation, created };
      }
      case 'list':
        return { type: 'ok', call, ...operation, names: this.#children.get(path) ?? null };
      case 'read':
        if (node === undefined) return { type: 'ok', call, ...operation, value: null };
        return { type: 'ok', call, ...operation, ...node };
    }
  }
}
