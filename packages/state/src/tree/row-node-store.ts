/**
 * The NodeStore as rows of numbers, with names and data in a byte slab: a million nodes are some arrays, and nothing for the garbage
 * collector to visit one by one. Children are found by a hash table and listed by links between siblings. Each change mixes the nodes
 * that it touches into the fold.
 */

import { writeText, type Stat } from '@holdfast/protocol';

import type { Fold } from '../fold.ts';
import { invariant } from '../invariant.ts';
import type { Capture } from '../snapshot/capture.ts';
import { malformed, wellFormed } from '../snapshot/snapshot-error.ts';
import { ByteSlab, type CellReference } from './byte-slab.ts';
import { ChildTable, hashOfChild, NO_PLACE, NO_ROW } from './child-table.ts';
import { isNodeName } from './node-name.ts';
import { NODE_NUMBERS, NODE_WORDS, NodeRows, NumberField, WordField, WORDS_AT } from './node-rows.ts';
import type { NewNode, NodeImage, NodeSlot, NodeStore } from './node-store.ts';
import { copyNarrow, isWide, nameBytes, readName, sameName, writeName, type NamePart } from './stored-name.ts';

const ROOT = 0 as NodeSlot;
/** As a parent: the row has no node. */
const NO_NODE = 0xffff_ffff;
const NO_DATA = new Uint8Array(0);

export class RowNodeStore implements NodeStore {
  readonly root = ROOT;
  readonly #fold: Fold;
  readonly #capture: Capture;
  #rows = new NodeRows();
  #table = new ChildTable();
  #slab = new ByteSlab();
  /** The first row that had a node and has none now. */
  #free = NO_ROW;
  #size = 0;
  #dataBytes = 0;
  /** What the next row is filled with. */
  readonly #numbers = new Float64Array(NODE_NUMBERS);
  readonly #words = new Uint32Array(NODE_WORDS);

  constructor(fold: Fold, capture: Capture) {
    this.#fold = fold;
    this.#capture = capture;
    this.#fill(this.#takeRow(), { parent: ROOT, name: '', data: NO_DATA, numbers: this.#numbers }, 0);
  }

  get size(): number {
    return this.#size;
  }

  get dataBytes(): number {
    return this.#dataBytes;
  }

  get slots(): number {
    return this.#rows.size;
  }

  find(path: string): NodeSlot | undefined {
    if (path === '/') return ROOT;
    if (!path.startsWith('/')) return undefined;
    let node: NodeSlot | undefined = ROOT;
    let from = 1;
    while (node !== undefined) {
      const slash = path.indexOf('/', from);
      const name: NamePart = { text: path, from, to: slash < 0 ? path.length : slash };
      node = this.#child(node, name, hashOfChild(node, name));
      if (slash < 0) return node;
      from = slash + 1;
    }
    return undefined;
  }

  child(parent: NodeSlot, name: string): NodeSlot | undefined {
    this.#check(parent);
    const part = whole(name);
    return this.#child(parent, part, hashOfChild(parent, part));
  }

  childNames(parent: NodeSlot): string[] {
    const names: string[] = [];
    let node = this.#word(parent, WordField.firstChild);
    for (; node !== NO_ROW; node = this.#rows.word(node, WordField.next)) names.push(this.name(node as NodeSlot));
    // The default order of sort is that of code units.
    return names.sort();
  }

  childCount(node: NodeSlot): number {
    return this.#word(node, WordField.children);
  }

  creations(node: NodeSlot): number {
    return this.#number(node, NumberField.creations);
  }

  parent(node: NodeSlot): NodeSlot {
    return this.#word(node, WordField.parent) as NodeSlot;
  }

  name(node: NodeSlot): string {
    const { units, wide } = this.#nameForm(node);
    const cell = this.#cell(node);
    return readName(units, wide, this.#slab.bytes(cell), this.#slab.offset(cell));
  }

  data(node: NodeSlot): Uint8Array {
    const cell = this.#cell(node);
    const begin = this.#slab.offset(cell) + this.#nameBytes(node);
    return this.#slab.bytes(cell).slice(begin, begin + this.dataLength(node));
  }

  dataLength(node: NodeSlot): number {
    return this.#word(node, WordField.dataLength);
  }

  czxid(node: NodeSlot): number {
    return this.#number(node, NumberField.czxid);
  }

  ctime(node: NodeSlot): number {
    return this.#number(node, NumberField.ctime);
  }

  version(node: NodeSlot): number {
    return this.#number(node, NumberField.version);
  }

  ephemeralOwner(node: NodeSlot): number {
    return this.#number(node, NumberField.ephemeralOwner);
  }

  stat(node: NodeSlot): Stat {
    this.#check(node);
    const rows = this.#rows;
    return {
      czxid: rows.number(node, NumberField.czxid),
      mzxid: rows.number(node, NumberField.mzxid),
      pzxid: rows.number(node, NumberField.pzxid),
      ctime: rows.number(node, NumberField.ctime),
      mtime: rows.number(node, NumberField.mtime),
      version: rows.number(node, NumberField.version),
      cversion: rows.number(node, NumberField.cversion),
      aversion: 0,
      ephemeralOwner: rows.number(node, NumberField.ephemeralOwner),
      dataLength: rows.word(node, WordField.dataLength),
      numChildren: rows.word(node, WordField.children),
    };
  }

  create(node: NewNode): NodeSlot {
    const { parent, index } = node;
    invariant(this.ephemeralOwner(parent) === 0, 'an ephemeral node has no children');
    const name = whole(node.name);
    const hash = hashOfChild(parent, name);
    invariant(this.#child(parent, name, hash) === undefined, 'a new node has a name of its own');

    this.#capture.node(parent);
    const slot = this.#takeRow();
    this.#fill(slot, { parent, name: node.name, data: node.data, numbers: this.#numbersOf(node) }, hash);
    this.#link(slot, parent);
    const rows = this.#rows;
    rows.setNumber(parent, NumberField.creations, rows.number(parent, NumberField.creations) + 1);
    this.#childrenChanged(parent, index);
    this.#dataBytes += node.data.length;
    this.#fold.mix(index);
    this.#fold.mix(rows.number(parent, NumberField.czxid));
    return slot;
  }

  setData(node: NodeSlot, data: Uint8Array, index: number, stamp: number): void {
    const rows = this.#rows;
    const version = this.version(node) + 1;
    this.#capture.node(node);
    const names = this.#nameBytes(node);
    const before = this.dataLength(node);
    const cell = data.length === before ? this.#cell(node) : this.#moveCell(node, names, before, data.length);
    this.#slab.bytes(cell).set(data, this.#slab.offset(cell) + names);
    this.#dataBytes += data.length - before;
    rows.setWord(node, WordField.dataLength, data.length);
    rows.setNumber(node, NumberField.mzxid, index);
    rows.setNumber(node, NumberField.mtime, stamp);
    rows.setNumber(node, NumberField.version, version);
    this.#fold.mix(rows.number(node, NumberField.czxid));
    this.#fold.mix(version);
  }

  markGranted(node: NodeSlot, token: number): void {
    this.#check(node);
    this.#capture.node(node);
    this.#rows.setNumber(node, NumberField.mzxid, token);
    this.#fold.mix(this.#rows.number(node, NumberField.czxid));
    this.#fold.mix(token);
  }

  remove(node: NodeSlot, index: number): void {
    invariant(node !== ROOT, 'the root is never removed');
    invariant(this.childCount(node) === 0, 'a node that is removed has no children');
    const rows = this.#rows;
    const parent = this.parent(node);
    const length = this.dataLength(node);
    this.#capture.node(node);
    this.#capture.node(parent);
    this.#unlink(node, parent);
    this.#childrenChanged(parent, index);
    this.#dataBytes -= length;
    this.#slab.free(this.#cell(node), this.#nameBytes(node) + length);
    this.#leave(node);
    this.#size -= 1;
    this.#fold.mix(rows.number(node, NumberField.czxid));
    this.#fold.mix(rows.number(parent, NumberField.czxid));
  }

  changing(node: NodeSlot): void {
    this.#capture.node(node);
  }

  isUsed(slot: NodeSlot): boolean {
    return slot < this.#rows.size && this.#rows.word(slot, WordField.parent) !== NO_NODE;
  }

  copyNumbers(node: NodeSlot, into: Float64Array): void {
    this.#rows.readNumbers(node, into);
  }

  nameLength(node: NodeSlot): number {
    return this.#nameForm(node).units;
  }

  copyName(node: NodeSlot, into: Uint8Array, at: number): number {
    const { units, wide } = this.#nameForm(node);
    const cell = this.#cell(node);
    const bytes = this.#slab.bytes(cell);
    const offset = this.#slab.offset(cell);
    return wide
      ? writeText(readName(units, wide, bytes, offset), into, at)
      : copyNarrow(units, bytes, offset, into, at);
  }

  copyData(node: NodeSlot, into: Uint8Array, at: number): void {
    const cell = this.#cell(node);
    const begin = this.#slab.offset(cell) + this.#nameBytes(node);
    into.set(this.#slab.bytes(cell).subarray(begin, begin + this.dataLength(node)), at);
  }

  freeSlots(): NodeSlot[] {
    const slots: NodeSlot[] = [];
    for (let row = this.#free; row !== NO_ROW; row = this.#rows.word(row, WordField.next)) slots.push(row as NodeSlot);
    return slots.reverse();
  }

  beginRestore(slots: number): void {
    this.#rows = new NodeRows();
    this.#table = new ChildTable(slots);
    this.#slab = new ByteSlab();
    for (let row = 0; row < slots; row += 1) this.#rows.setWord(this.#rows.add(), WordField.parent, NO_NODE);
    this.#free = NO_ROW;
    this.#size = 0;
    this.#dataBytes = 0;
  }

  place(slot: NodeSlot, node: NodeImage): boolean {
    const { parent } = node;
    if (slot >= this.#rows.size) throw malformed(`has a node in slot ${slot} of ${this.#rows.size}`);
    if (this.isUsed(slot)) throw malformed(`has two nodes in slot ${slot}`);
    let hash = 0;
    if (slot === ROOT) {
      const sound = parent === ROOT && node.name === '' && node.numbers[NumberField.ephemeralOwner] === 0;
      if (!sound) throw malformed('has a root that cannot be');
    } else {
      if (!this.isUsed(parent)) return false;
      hash = this.#hashOfPlaced(parent, node.name);
    }
    this.#fill(slot, node, hash);
    if (slot !== ROOT) this.#link(slot, parent);
    this.#size += 1;
    this.#dataBytes += node.data.length;
    return true;
  }

  /** @throws SnapshotError when there can be no such child */
  #hashOfPlaced(parent: NodeSlot, name: string): number {
    if (this.ephemeralOwner(parent) !== 0) throw malformed('has an ephemeral node with children');
    if (!isNodeName(name)) throw malformed(`has a node "${name}"`);
    const part = whole(name);
    const hash = hashOfChild(parent, part);
    if (this.#child(parent, part, hash) !== undefined) throw malformed(`has two nodes "${name}" under one parent`);
    return hash;
  }

  restoreFree(slots: readonly NodeSlot[]): void {
    wellFormed(this.isUsed(ROOT), () => 'has no root');
    const wrong = (): string => 'has free slots that are not those without a node';
    wellFormed(slots.length === this.#rows.size - this.#size && new Set(slots).size === slots.length, wrong);
    wellFormed(
      slots.every((slot) => slot < this.#rows.size && !this.isUsed(slot)),
      wrong,
    );
    for (const slot of slots) this.#leave(slot);
  }

  /** The row is the next that is taken. */
  #leave(slot: NodeSlot): void {
    this.#rows.setWord(slot, WordField.parent, NO_NODE);
    this.#rows.setWord(slot, WordField.next, this.#free);
    this.#free = slot;
  }

  #takeRow(): NodeSlot {
    this.#size += 1;
    const free = this.#free;
    if (free === NO_ROW) return this.#rows.add() as NodeSlot;
    this.#free = this.#rows.word(free, WordField.next);
    return free as NodeSlot;
  }

  #numbersOf({ index, stamp, ephemeralOwner }: NewNode): Float64Array {
    const numbers = this.#numbers;
    numbers[NumberField.czxid] = index;
    numbers[NumberField.mzxid] = index;
    numbers[NumberField.pzxid] = index;
    numbers[NumberField.ctime] = stamp;
    numbers[NumberField.mtime] = stamp;
    numbers[NumberField.version] = 0;
    numbers[NumberField.cversion] = 0;
    numbers[NumberField.creations] = 0;
    numbers[NumberField.ephemeralOwner] = ephemeralOwner;
    return numbers;
  }

  /** Every field of the row but the links to its siblings. */
  #fill(slot: NodeSlot, { parent, name, data, numbers }: NodeImage, hash: number): void {
    const part = whole(name);
    const wide = isWide(part);
    const names = nameBytes(name.length, wide);
    const cell = this.#slab.allocate(names + data.length);
    const bytes = this.#slab.bytes(cell);
    const offset = this.#slab.offset(cell);
    writeName(part, wide, bytes, offset);
    bytes.set(data, offset + names);
    const words = this.#words;
    words[WordField.parent - WORDS_AT] = parent;
    words[WordField.firstChild - WORDS_AT] = NO_ROW;
    words[WordField.next - WORDS_AT] = NO_ROW;
    words[WordField.previous - WORDS_AT] = NO_ROW;
    words[WordField.children - WORDS_AT] = 0;
    words[WordField.hash - WORDS_AT] = hash;
    words[WordField.cell - WORDS_AT] = cell;
    words[WordField.nameUnits - WORDS_AT] = name.length * 2 + (wide ? 1 : 0);
    words[WordField.dataLength - WORDS_AT] = data.length;
    this.#rows.setNumbers(slot, numbers);
    this.#rows.setWords(slot, words);
  }

  /** Into the table, and as the first of its siblings. */
  #link(slot: NodeSlot, parent: NodeSlot): void {
    const rows = this.#rows;
    const sibling = rows.word(parent, WordField.firstChild);
    rows.setWord(slot, WordField.next, sibling);
    rows.setWord(slot, WordField.previous, NO_ROW);
    if (sibling !== NO_ROW) rows.setWord(sibling, WordField.previous, slot);
    rows.setWord(parent, WordField.firstChild, slot);
    rows.setWord(parent, WordField.children, rows.word(parent, WordField.children) + 1);
    this.#table.add(slot, rows.word(slot, WordField.hash));
  }

  #unlink(slot: NodeSlot, parent: NodeSlot): void {
    const rows = this.#rows;
    const after = rows.word(slot, WordField.next);
    const before = rows.word(slot, WordField.previous);
    if (after !== NO_ROW) rows.setWord(after, WordField.previous, before);
    if (before === NO_ROW) rows.setWord(parent, WordField.firstChild, after);
    else rows.setWord(before, WordField.next, after);
    rows.setWord(parent, WordField.children, rows.word(parent, WordField.children) - 1);
    const unlinked = this.#table.remove(slot, rows.word(slot, WordField.hash));
    invariant(unlinked, 'a node is among the children of its parent');
  }

  #childrenChanged(parent: NodeSlot, index: number): void {
    this.#rows.setNumber(parent, NumberField.cversion, this.#rows.number(parent, NumberField.cversion) + 1);
    this.#rows.setNumber(parent, NumberField.pzxid, index);
  }

  /** To one that has room for so much data. Its data is yet to be written. */
  #moveCell(node: NodeSlot, names: number, dataBefore: number, dataAfter: number): CellReference {
    const slab = this.#slab;
    const old = this.#cell(node);
    const fresh = slab.allocate(names + dataAfter);
    const nameAt = slab.offset(old);
    slab.bytes(fresh).set(slab.bytes(old).subarray(nameAt, nameAt + names), slab.offset(fresh));
    slab.free(old, names + dataBefore);
    this.#rows.setWord(node, WordField.cell, fresh);
    return fresh;
  }

  #child(parent: NodeSlot, name: NamePart, hash: number): NodeSlot | undefined {
    const table = this.#table;
    for (let place = table.first(hash); place !== NO_PLACE; place = table.next(hash, place)) {
      const row = table.rowAt(place) as NodeSlot;
      if (this.#rows.word(row, WordField.parent) !== parent) continue;
      const { units, wide } = this.#nameForm(row);
      if (units !== name.to - name.from) continue;
      const cell = this.#cell(row);
      if (sameName(name, wide, this.#slab.bytes(cell), this.#slab.offset(cell))) return row;
    }
    return undefined;
  }

  #nameForm(node: NodeSlot): { readonly units: number; readonly wide: boolean } {
    const stored = this.#word(node, WordField.nameUnits);
    return { units: stored >>> 1, wide: (stored & 1) !== 0 };
  }

  #nameBytes(node: NodeSlot): number {
    const { units, wide } = this.#nameForm(node);
    return nameBytes(units, wide);
  }

  #cell(node: NodeSlot): CellReference {
    return this.#word(node, WordField.cell) as CellReference;
  }

  #number(node: NodeSlot, field: NumberField): number {
    this.#check(node);
    return this.#rows.number(node, field);
  }

  #word(node: NodeSlot, field: WordField): number {
    this.#check(node);
    return this.#rows.word(node, field);
  }

  #check(node: NodeSlot): void {
    invariant(this.isUsed(node), 'a slot that is used has a node');
  }
}

function whole(name: string): NamePart {
  return { text: name, from: 0, to: name.length };
}
