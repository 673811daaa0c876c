/**
 * The tree of a RowNodeStore that is being restored. It takes nothing on trust: a node that cannot be where the snapshot has it is
 * refused, and what follows from others, as the number of children, is made anew. Where slots are used again is part of the state.
 */

import { malformed, wellFormed } from '../snapshot-error.ts';
import { ExtraTag } from './extra-tag.ts';
import { readLifetime } from './node-lifetime.ts';
import { isNodeName } from './node-name.ts';
import { ROOT, type NodeSlot } from './node-slot.ts';
import { NO_ROW } from './storage/child-table.ts';
import { Children } from './storage/children.ts';
import type { HashKey } from './storage/keyed-hash.ts';
import { NodeCells } from './storage/node-cells.ts';
import { MAX_NODE_EXTRAS_BYTES, type NodeExtra } from './storage/node-extras.ts';
import { NodeRows, NumberField, WordField } from './storage/node-rows.ts';
import { fillRow, isRowUsed, leaveRow, NO_NODE } from './storage/row-use.ts';
import { whole } from './storage/stored-name.ts';
import type { NodeImage, TreeRestore } from './tree-restore.ts';

/** What an extra takes beside its bytes. */
const EXTRA_ROOM_BYTES = 4;

export class RowTreeRestore implements TreeRestore {
  readonly rows = new NodeRows();
  readonly cells = new NodeCells(this.rows);
  readonly children: Children;
  /** The first row that had a node and has none now. */
  free = NO_ROW;
  size = 0;
  dataBytes = 0;
  nameBytes = 0;
  readonly #finished: (restored: RowTreeRestore) => void;

  constructor(key: HashKey, slots: number, finished: (restored: RowTreeRestore) => void) {
    this.#finished = finished;
    this.children = new Children(this.rows, this.cells, key, slots);
    for (let row = 0; row < slots; row += 1) this.rows.setWord(this.rows.add(), WordField.parent, NO_NODE);
  }

  get slots(): number {
    return this.rows.size;
  }

  isUsed(slot: NodeSlot): boolean {
    return isRowUsed(this.rows, slot);
  }

  place(slot: NodeSlot, node: NodeImage): boolean {
    const { parent } = node;
    if (slot >= this.rows.size) throw malformed(`has a node in slot ${slot} of ${this.rows.size}`);
    if (this.isUsed(slot)) throw malformed(`has two nodes in slot ${slot}`);
    let hash = 0;
    if (slot === ROOT) {
      const sound = parent === ROOT && node.name === '' && node.numbers[NumberField.ephemeralOwner] === 0;
      if (!sound) throw malformed('has a root that cannot be');
    } else {
      if (!this.isUsed(parent)) return false;
      hash = this.#hashOf(parent, node.name);
    }
    fillRow(this.rows, slot, parent, node.numbers);
    this.cells.create(slot, node.name, node.data);
    if (slot !== ROOT) this.children.add(slot, hash);
    this.size += 1;
    this.dataBytes += node.data.length;
    this.nameBytes += this.cells.nameBytes(slot);
    return true;
  }

  placeExtra(slot: NodeSlot, { tag, bytes }: NodeExtra): void {
    const { extras } = this.cells;
    const present = extras.list(slot);
    const known = present.reduce((sum, each) => sum + each.bytes.length + EXTRA_ROOM_BYTES, EXTRA_ROOM_BYTES);
    if ((present.at(-1)?.tag ?? 0) >= tag || known + bytes.length + EXTRA_ROOM_BYTES > MAX_NODE_EXTRAS_BYTES)
      throw malformed(`has an extra ${tag} of the node in slot ${slot} that cannot be`);
    if (!this.#mayHave(slot, tag, bytes))
      throw malformed(`has an extra ${tag} of the node in slot ${slot} that cannot be`);
    this.dataBytes += extras.set(slot, tag, bytes);
  }

  finish(free: readonly NodeSlot[]): void {
    wellFormed(this.isUsed(ROOT), () => 'has no root');
    const wrong = (): string => 'has free slots that are not those without a node';
    wellFormed(free.length === this.rows.size - this.size && new Set(free).size === free.length, wrong);
    wellFormed(
      free.every((slot) => slot < this.rows.size && !this.isUsed(slot)),
      wrong,
    );
    for (const slot of free) {
      leaveRow(this.rows, slot, this.free);
      this.free = slot;
    }
    this.#finished(this);
  }

  /** What this program knows of the tag. */
  #mayHave(slot: NodeSlot, tag: number, bytes: Uint8Array): boolean {
    if (tag === ExtraTag.noData) return bytes.length === 0 && this.rows.word(slot, WordField.dataLength) === 0;
    if (tag !== ExtraTag.lifetime) return true;
    return (
      readLifetime(bytes) !== undefined && this.rows.number(slot, NumberField.ephemeralOwner) === 0 && slot !== ROOT
    );
  }

  /** @throws SnapshotError when there can be no such child */
  #hashOf(parent: NodeSlot, name: string): number {
    if (this.rows.number(parent, NumberField.ephemeralOwner) !== 0)
      throw malformed('has an ephemeral node with children');
    if (!isNodeName(name)) throw malformed(`has a node "${name}"`);
    const part = whole(name);
    const hash = this.children.hash(parent, part);
    if (this.children.find(parent, part, hash) !== NO_ROW) throw malformed(`has two nodes "${name}" under one parent`);
    return hash;
  }
}
