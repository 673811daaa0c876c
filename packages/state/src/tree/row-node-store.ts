/**
 * The NodeStore as rows of numbers: a million nodes are some arrays, and nothing for the garbage collector to visit one by one. Keeps
 * stat fields, counters and free rows, and mixes the nodes that a change touches into the digest; names and data are in cells
 * (storage/node-cells.ts), who is whose child is in storage/children.ts, and what a snapshot brings comes by row-tree-restore.ts.
 */

import type { Stat } from '@holdfast/protocol';

import type { StateDigest } from '../state-digest.ts';
import { invariant } from '../invariant.ts';
import type { Capture } from '../snapshot/capture.ts';
import { ChangeFeed } from './change-feed.ts';
import { ExtraTag } from './extra-tag.ts';
import { readLifetime, type NodeLifetime } from './node-lifetime.ts';
import { NO_ROW } from './storage/child-table.ts';
import { Children } from './storage/children.ts';
import type { HashKey } from './storage/keyed-hash.ts';
import { NodeCells } from './storage/node-cells.ts';
import type { NodeExtra } from './storage/node-extras.ts';
import { NODE_NUMBERS, NodeRows, NumberField, WordField } from './storage/node-rows.ts';
import { fillRow, isRowUsed, leaveRow } from './storage/row-use.ts';
import { ROOT, type NodeSlot } from './node-slot.ts';
import type { ChildObserver, NewNode, NodeStore } from './node-store.ts';
import { RowTreeRestore } from './row-tree-restore.ts';
import type { TreeRestore } from './tree-restore.ts';
import { whole, type NamePart } from './storage/stored-name.ts';

const NO_DATA = new Uint8Array(0);
const SLASH = 0x2f;

export class RowNodeStore implements NodeStore {
  readonly root = ROOT;
  readonly #digest: StateDigest;
  readonly #capture: Capture;
  readonly #key: HashKey;
  /** Nobody's, until it is said whose. */
  #feed = new ChangeFeed();
  #observers: readonly ChildObserver[] = [];
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

  constructor(digest: StateDigest, capture: Capture, key: HashKey) {
    this.#digest = digest;
    this.#capture = capture;
    this.#key = key;
    this.#children = new Children(this.#rows, this.#cells, key);
    fillRow(this.#rows, this.#takeRow(), ROOT, this.#numbers);
    this.#cells.create(ROOT, '', NO_DATA);
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
    return path.startsWith('/') ? this.findBelow(ROOT, path, 1) : undefined;
  }

  findBelow(top: NodeSlot, path: string, from: number): NodeSlot | undefined {
    this.#check(top);
    let node: NodeSlot | undefined = top;
    for (let at = from; node !== undefined;) {
      const slash = path.indexOf('/', at);
      const name: NamePart = { text: path, from: at, to: slash < 0 ? path.length : slash };
      node = this.#child(node, name);
      if (slash < 0) return node;
      at = slash + 1;
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

  firstChild(parent: NodeSlot): NodeSlot | undefined {
    return this.#link(parent, WordField.firstChild);
  }

  nextSibling(node: NodeSlot): NodeSlot | undefined {
    return this.#link(node, WordField.next);
  }

  observeChildren(observer: ChildObserver): void {
    this.#observers = [...this.#observers, observer];
  }

  copyPath(node: NodeSlot, into: Uint8Array, at: number): number {
    if (node === ROOT) return at;
    const end = this.copyPath(this.parent(node), into, at);
    into[end] = SLASH;
    return this.#cells.copyName(node, into, end + 1);
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

  nameBytesOf(node: NodeSlot): number {
    this.#check(node);
    return this.#cells.nameBytes(node);
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

  mzxid(node: NodeSlot): number {
    return this.#number(node, NumberField.mzxid);
  }

  mtime(node: NodeSlot): number {
    return this.#number(node, NumberField.mtime);
  }

  hasData(node: NodeSlot): boolean {
    return this.dataLength(node) > 0 || this.#cells.extras.find(node, ExtraTag.noData) === undefined;
  }

  lifetime(node: NodeSlot): NodeLifetime | undefined {
    this.#check(node);
    const bytes = this.#cells.extras.find(node, ExtraTag.lifetime);
    return bytes === undefined ? undefined : readLifetime(bytes);
  }

  withLifetime(): Iterable<NodeSlot> {
    return this.#cells.extras.withLifetime as ReadonlySet<NodeSlot>;
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
    fillRow(this.#rows, slot, parent, this.#numbersOf(node));
    this.#cells.create(slot, node.name, node.data);
    this.#children.add(slot, hash);
    const rows = this.#rows;
    rows.setNumber(parent, NumberField.creations, rows.number(parent, NumberField.creations) + 1);
    for (const observer of this.#observers) observer.childAdded(parent, slot);
    this.#childrenChanged(parent, index);
    this.#dataBytes += node.data.length;
    this.#nameBytes += this.#cells.nameBytes(slot);
    this.#digest.mix(index);
    this.#digest.mix(rows.number(parent, NumberField.czxid));
    if (node.extras !== undefined) for (const { tag, bytes } of node.extras) this.#putExtra(slot, tag, bytes);
    this.#feed.notify('created', slot, index);
    this.#feed.notify('children', parent, index);
    return slot;
  }

  setData(node: NodeSlot, given: Uint8Array | undefined, index: number, stamp: number): void {
    const rows = this.#rows;
    const version = this.version(node) + 1;
    const data = given ?? NO_DATA;
    const noData = given === undefined ? NO_DATA : undefined;
    this.#capture.node(node);
    if (this.hasData(node) !== (given !== undefined)) this.#putExtra(node, ExtraTag.noData, noData);
    this.#dataBytes += data.length - this.dataLength(node);
    this.#cells.setData(node, data);
    rows.setNumber(node, NumberField.mzxid, index);
    rows.setNumber(node, NumberField.mtime, stamp);
    rows.setNumber(node, NumberField.version, version);
    this.#digest.mix(rows.number(node, NumberField.czxid));
    this.#digest.mix(version);
    this.#feed.notify('data', node, index);
  }

  markGranted(node: NodeSlot, token: number): void {
    this.#check(node);
    this.#capture.node(node);
    this.#rows.setNumber(node, NumberField.mzxid, token);
    this.#digest.mix(this.#rows.number(node, NumberField.czxid));
    this.#digest.mix(token);
    this.#feed.notify('granted', node, token);
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
    this.#digest.mix(this.czxid(node));
    this.#putExtra(node, tag, bytes);
  }

  remove(node: NodeSlot, index: number): void {
    const rows = this.#rows;
    invariant(node !== ROOT, 'the root is never removed');
    this.#check(node);
    invariant(this.#children.count(node) === 0, 'a node that is removed has no children');
    const parent = rows.word(node, WordField.parent) as NodeSlot;
    this.#feed.notify('deleted', node, index);
    this.#capture.node(node);
    this.#capture.node(parent);
    for (const observer of this.#observers) observer.childGoing(parent, node);
    this.#children.remove(node);
    this.#childrenChanged(parent, index);
    this.#dataBytes -= this.#cells.dataLength(node) + this.#cells.extras.clear(node);
    this.#nameBytes -= this.#cells.nameBytes(node);
    this.#cells.free(node);
    leaveRow(rows, node, this.#free);
    this.#free = node;
    this.#size -= 1;
    this.#digest.mix(rows.number(node, NumberField.czxid));
    this.#digest.mix(rows.number(parent, NumberField.czxid));
    this.#feed.notify('children', parent, index);
  }

  changing(node: NodeSlot): void {
    this.#capture.node(node);
  }

  isUsed(slot: NodeSlot): boolean {
    return isRowUsed(this.#rows, slot);
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

  beginRestore(slots: number): TreeRestore {
    return new RowTreeRestore(this.#key, slots, (restored) => {
      this.#rows = restored.rows;
      this.#cells = restored.cells;
      this.#children = restored.children;
      this.#free = restored.free;
      this.#size = restored.size;
      this.#dataBytes = restored.dataBytes;
      this.#nameBytes = restored.nameBytes;
    });
  }

  #putExtra(node: NodeSlot, tag: number, bytes: Uint8Array | undefined): void {
    this.#dataBytes += this.#cells.extras.set(node, tag, bytes);
    this.#digest.mix(tag);
    this.#digest.mix(bytes === undefined ? -1 : bytes.length);
    for (const byte of bytes ?? NO_DATA) this.#digest.mix(byte);
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

  #childrenChanged(parent: NodeSlot, index: number): void {
    this.#rows.setNumber(parent, NumberField.cversion, this.#rows.number(parent, NumberField.cversion) + 1);
    this.#rows.setNumber(parent, NumberField.pzxid, index);
  }

  #child(parent: NodeSlot, name: NamePart): NodeSlot | undefined {
    const row = this.#children.find(parent, name);
    return row === NO_ROW ? undefined : (row as NodeSlot);
  }

  #link(node: NodeSlot, field: WordField): NodeSlot | undefined {
    const row = this.#word(node, field);
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
