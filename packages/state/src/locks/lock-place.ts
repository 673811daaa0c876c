/**
 * Where locks have their containers: a node of the tree, each of whose children is the container of the lock that it is named after.
 * There is one such place now. Nobody else may conclude from a path or a parent what is a lock: a lock knows its container.
 */

import { baseName, decodeLockName, LOCKS_PATH, parentPath } from '@holdfast/protocol';

import { wellFormed } from '../snapshot-error.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';
import { containerName } from './lock-name.ts';

const NO_DATA = new Uint8Array(0);

export class LockPlace {
  readonly path = LOCKS_PATH;
  readonly #nodes: NodeStore;
  #node: NodeSlot;

  /** Makes its node in a tree that has only a root. */
  constructor(nodes: NodeStore) {
    this.#nodes = nodes;
    const persistent = { data: NO_DATA, ephemeralOwner: 0, index: 0, stamp: 0 };
    const parent = nodes.create({ ...persistent, parent: nodes.root, name: baseName(parentPath(LOCKS_PATH)) });
    this.#node = nodes.create({ ...persistent, parent, name: baseName(LOCKS_PATH) });
  }

  /** How many containers are there. */
  get size(): number {
    return this.#nodes.childCount(this.#node);
  }

  /** Whether that is a container here. */
  has(container: NodeSlot): boolean {
    return this.#nodes.parent(container) === this.#node;
  }

  /** After which lock the container is named; undefined for what is none here, and for a name that no lock has. */
  lockName(container: NodeSlot): string | undefined {
    return this.has(container) ? decodeLockName(this.#nodes.name(container)) : undefined;
  }

  createContainer(lock: string, index: number, stamp: number): NodeSlot {
    const name = containerName(lock);
    return this.#nodes.create({ parent: this.#node, name, data: NO_DATA, ephemeralOwner: 0, index, stamp });
  }

  /** The nodes are those of a snapshot now. @throws SnapshotError when the place is not among them */
  restore(): void {
    const node = this.#nodes.find(LOCKS_PATH);
    wellFormed(node !== undefined, () => `has no ${LOCKS_PATH}`);
    this.#node = node;
  }
}
