/**
 * The NodeStore as rows of numbers: a million nodes are some arrays, and nothing for the garbage collector to visit one by one. Keeps
 * stat fields, counters and free rows, and mixes the nodes that a change touches into the fold; names and data are in cells
 * (node-cells.ts), and who is whose child is in children.ts.
 */

import type { Stat } from '@holdfast/protocol';

import type { Fold } from '../fold.ts';
import { invariant } from '../invariant.ts';
import type { Capture } from '../snapshot/capture.ts';
import { malformed, wellFormed } from '../snapshot-error.ts';
import { ChangeFeed } from './change-feed.ts';
import { NO_ROW } from './storage/child-table.ts';
import { Children } from './storage/children.ts';
import type { HashKey } from './storage/keyed-hash.ts';
import { NodeCells } from './storage/node-cells.ts';
import { isNodeName } from './node-name.ts';
import { MAX_NODE_EXTRAS_BYTES, type NodeExtra } from './storage/node-extras.ts';
import { NODE_NUMBERS, NODE_WORDS, NodeRows, NumberField, WordField, WORDS_AT } from './storage/node-rows.ts';
import type { NewNode, NodeImage, NodeSlot, NodeStore } from './node-store.ts';
import { whole, type NamePart } from './storage/stored-name.ts';

const ROOT = 0 as NodeSlot;
/** As a parent: the row has no node. */
const NO_NODE = 0xffff_ffff;
const NO_DATA = new Uint8Array(0);
/** What an extra takes beside its bytes. */
const EXTRA_ROOM_BYTES = 4;

export class RowNodeStore implements NodeStore {
  readonly root = ROOT;
  readonly #fold: Fold;
  readonly #capture: Capture;
  readonly #key: HashKey;
  /** Nobody's, until it is said whose. */
  #feed = new ChangeFeed();
  #rows = new NodeRows();
  #cells = new NodeCells(this.#rows);
  #children: Children;
  /** The first row that had a node and has none now. */
  #free = NO_ROW;
  #size = 0;
  #dataBytes = 0;
  #nameBytes = 0;
  /** What the next row is filled with. */
  readonly #numbers = new Float64Array(NODE_NUMBERS);
  readonly #words = new Uint32Array(NODE_WORDS);

  constructor(fold: Fold, capture: Capture, key: HashKey) {
    this.#fold = fold;
    this.#capture = capture;
    this.#key = key;
    this.#children = new Children(this.#rows, this.#cells, key);
    this.#fill(this.#takeRow(), { parent: ROOT, name: '', data: NO_DATA, numbers: this.#numbers });
  }

  get size(): number {
    return this.#size;
  }

  get dataBytes(): number {
    return this.#dataBytes;
  }

  get nameBytes(): number {
    return this.#nameBytes;
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
      node = this.#child(node, name);
      if (slash < 0) return node;
      from = slash + 1;
    }
    return undefined;
  }

  child(parent: NodeSlot, name: string): NodeSlot | undefined {
    this.#check(parent);
    return this.#child(parent, whole(name));
  }

  path(node: NodeSlot): string {
    let path = '';
    for (let at = node; at !== ROOT; at = this.parent(at)) path = `/${this.name(at)}${path}`;
    return path === '' ? '/' : path;
  }

  reportTo(feed: ChangeFeed): void {
    this.#feed = feed;
  }

  childNames(parent: NodeSlot): string[] {
    this.#check(parent);
    return this.#children.names(parent);
  }

  childCount(node: NodeSlot): number {
    this.#check(node);
    return this.#children.count(node);
  }

  creations(node: NodeSlot): number {
    return this.#number(node, NumberField.creations);
  }

  parent(node: NodeSlot): NodeSlot {
    return this.#word(node, WordField.parent) as NodeSlot;
  }

  name(node: NodeSlot): string {
    this.#check(node);
    return this.#cells.name(node);
  }

  data(node: NodeSlot): Uint8Array {
    this.#check(node);
    return this.#cells.data(node);
  }

  dataLength(node: NodeSlot): number {
    this.#check(node);
    return this.#cells.dataLength(node);
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
    const hash = this.#children.hash(parent, name);
    invariant(this.#children.find(parent, name, hash) === NO_ROW, 'a new node has a name of its own');

    this.#capture.node(parent);
    const slot = this.#takeRow();
    this.#fill(slot, { parent, name: node.name, data: node.data, numbers: this.#numbersOf(node) });
    this.#children.add(slot, hash);
    const rows = this.#rows;
    rows.setNumber(parent, NumberField.creations, rows.number(parent, NumberField.creations) + 1);
    this.#childrenChanged(parent, index);
    this.#dataBytes += node.data.length;
    this.#nameBytes += this.#cells.nameBytes(slot);
    this.#fold.mix(index);
    this.#fold.mix(rows.number(parent, NumberField.czxid));
    this.#feed.tell('created', slot, index);
    this.#feed.tell('children', parent, index);
    return slot;
  }

  setData(node: NodeSlot, data: Uint8Array, index: number, stamp: number): void {
    const rows = this.#rows;
    const version = this.version(node) + 1;
    this.#capture.node(node);
    this.#dataBytes += data.length - this.dataLength(node);
    this.#cells.setData(node, data);
    rows.setNumber(node, NumberField.mzxid, index);
    rows.setNumber(node, NumberField.mtime, stamp);
    rows.setNumber(node, NumberField.version, version);
    this.#fold.mix(rows.number(node, NumberField.czxid));
    this.#fold.mix(version);
    this.#feed.tell('data', node, index);
  }

  markGranted(node: NodeSlot, token: number): void {
    this.#check(node);
    this.#capture.node(node);
    this.#rows.setNumber(node, NumberField.mzxid, token);
    this.#fold.mix(this.#rows.number(node, NumberField.czxid));
    this.#fold.mix(token);
    this.#feed.tell('granted', node, token);
  }

  extraBytes(node: NodeSlot): number {
    this.#check(node);
    return this.#cells.extras.size(node);
  }

  extras(node: NodeSlot): readonly NodeExtra[] {
    this.#check(node);
    return this.#cells.extras.list(node);
  }

  extraTags(): readonly number[] {
    return this.#cells.extras.tags;
  }

  setExtra(node: NodeSlot, tag: number, bytes: Uint8Array | undefined): void {
    this.#capture.node(node);
    this.#fold.mix(this.czxid(node));
    this.#dataBytes += this.#cells.extras.set(node, tag, bytes);
    this.#fold.mix(tag);
    this.#fold.mix(bytes === undefined ? -1 : bytes.length);
    for (const byte of bytes ?? NO_DATA) this.#fold.mix(byte);
  }

  remove(node: NodeSlot, index: number): void {
    invariant(node !== ROOT, 'the root is never removed');
    invariant(this.childCount(node) === 0, 'a node that is removed has no children');
    const rows = this.#rows;
    const parent = this.parent(node);
    this.#feed.tell('deleted', node, index);
    this.#capture.node(node);
    this.#capture.node(parent);
    this.#children.remove(node);
    this.#childrenChanged(parent, index);
    this.#dataBytes -= this.dataLength(node);
    this.#nameBytes -= this.#cells.nameBytes(node);
    this.#dataBytes -= this.#cells.extras.clear(node);
    this.#cells.free(node);
    this.#leave(node);
    this.#size -= 1;
    this.#fold.mix(rows.number(node, NumberField.czxid));
    this.#fold.mix(rows.number(parent, NumberField.czxid));
    this.#feed.tell('children', parent, index);
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
    this.#check(node);
    return this.#cells.nameLength(node);
  }

  copyName(node: NodeSlot, into: Uint8Array, at: number): number {
    this.#check(node);
    return this.#cells.copyName(node, into, at);
  }

  copyData(node: NodeSlot, into: Uint8Array, at: number): void {
    this.#check(node);
    this.#cells.copyData(node, into, at);
  }

  freeSlots(): NodeSlot[] {
    const slots: NodeSlot[] = [];
    for (let row = this.#free; row !== NO_ROW; row = this.#rows.word(row, WordField.next)) slots.push(row as NodeSlot);
    return slots.reverse();
  }

  beginRestore(slots: number): void {
    this.#rows = new NodeRows();
    this.#cells = new NodeCells(this.#rows);
    this.#children = new Children(this.#rows, this.#cells, this.#key, slots);
    for (let row = 0; row < slots; row += 1) this.#rows.setWord(this.#rows.add(), WordField.parent, NO_NODE);
    this.#free = NO_ROW;
    this.#size = 0;
    this.#dataBytes = 0;
    this.#nameBytes = 0;
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
    this.#fill(slot, node);
    if (slot !== ROOT) this.#children.add(slot, hash);
    this.#size += 1;
    this.#dataBytes += node.data.length;
    this.#nameBytes += this.#cells.nameBytes(slot);
    return true;
  }

  placeExtra(slot: NodeSlot, { tag, bytes }: NodeExtra): void {
    const { extras } = this.#cells;
    const present = extras.list(slot);
    const known = present.reduce((sum, each) => sum + each.bytes.length + EXTRA_ROOM_BYTES, EXTRA_ROOM_BYTES);
    if ((present.at(-1)?.tag ?? 0) >= tag || known + bytes.length + EXTRA_ROOM_BYTES > MAX_NODE_EXTRAS_BYTES)
      throw malformed(`has an extra ${tag} of the node in slot ${slot} that cannot be`);
    this.#dataBytes += extras.set(slot, tag, bytes);
  }

  /** @throws SnapshotError when there can be no such child */
  #hashOfPlaced(parent: NodeSlot, name: string): number {
    if (this.ephemeralOwner(parent) !== 0) throw malformed('has an ephemeral node with children');
    if (!isNodeName(name)) throw malformed(`has a node "${name}"`);
    const part = whole(name);
    const hash = this.#children.hash(parent, part);
    if (this.#children.find(parent, part, hash) !== NO_ROW) throw malformed(`has two nodes "${name}" under one parent`);
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

  /** Every field of the row but its place among its siblings. */
  #fill(slot: NodeSlot, { parent, name, data, numbers }: NodeImage): void {
    const words = this.#words;
    words.fill(0);
    words[WordField.parent - WORDS_AT] = parent;
    words[WordField.firstChild - WORDS_AT] = NO_ROW;
    this.#rows.setNumbers(slot, numbers);
    this.#rows.setWords(slot, words);
    this.#cells.create(slot, name, data);
  }

  #childrenChanged(parent: NodeSlot, index: number): void {
    this.#rows.setNumber(parent, NumberField.cversion, this.#rows.number(parent, NumberField.cversion) + 1);
    this.#rows.setNumber(parent, NumberField.pzxid, index);
  }

  #child(parent: NodeSlot, name: NamePart): NodeSlot | undefined {
    const row = this.#children.find(parent, name);
    return row === NO_ROW ? undefined : (row as NodeSlot);
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
