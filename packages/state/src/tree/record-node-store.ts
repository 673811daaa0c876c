/** The NodeStore as one record a node. Each change mixes the nodes that it touches into the fold. */

import type { Stat } from '@holdfast/protocol';

import type { Fold } from '../fold.ts';
import { invariant } from '../invariant.ts';
import type { Capture } from '../snapshot/capture.ts';
import { malformed, wellFormed } from '../snapshot/snapshot-error.ts';
import { isNodeName } from './node-name.ts';
import type { NewNode, NodeImage, NodeSlot, NodeStore } from './node-store.ts';

interface NodeRecord {
  readonly name: string;
  readonly parent: NodeSlot;
  readonly czxid: number;
  readonly ctime: number;
  readonly ephemeralOwner: number;
  data: Uint8Array;
  mzxid: number;
  pzxid: number;
  mtime: number;
  version: number;
  cversion: number;
  creations: number;
  /** Made with the first child: most nodes never have one. */
  children: Map<string, NodeSlot> | undefined;
}

const ROOT = 0 as NodeSlot;
const NO_DATA = new Uint8Array(0);

export class RecordNodeStore implements NodeStore {
  readonly root = ROOT;
  readonly #fold: Fold;
  readonly #capture: Capture;
  #records: (NodeRecord | undefined)[];
  #free: NodeSlot[] = [];
  #dataBytes = 0;

  constructor(fold: Fold, capture: Capture) {
    this.#fold = fold;
    this.#capture = capture;
    this.#records = [newRecord({ parent: ROOT, name: '', data: NO_DATA, ephemeralOwner: 0, index: 0, stamp: 0 })];
  }

  get size(): number {
    return this.#records.length - this.#free.length;
  }

  get dataBytes(): number {
    return this.#dataBytes;
  }

  get slots(): number {
    return this.#records.length;
  }

  find(path: string): NodeSlot | undefined {
    if (path === '/') return ROOT;
    if (!path.startsWith('/')) return undefined;
    let node: NodeSlot | undefined = ROOT;
    let start = 1;
    while (node !== undefined) {
      const slash = path.indexOf('/', start);
      if (slash < 0) return this.child(node, path.slice(start));
      node = this.child(node, path.slice(start, slash));
      start = slash + 1;
    }
    return undefined;
  }

  child(parent: NodeSlot, name: string): NodeSlot | undefined {
    return this.#record(parent).children?.get(name);
  }

  childNames(parent: NodeSlot): string[] {
    // The default order of sort is that of code units.
    return [...(this.#record(parent).children?.keys() ?? [])].sort();
  }

  childCount(node: NodeSlot): number {
    return this.#record(node).children?.size ?? 0;
  }

  creations(node: NodeSlot): number {
    return this.#record(node).creations;
  }

  parent(node: NodeSlot): NodeSlot {
    return this.#record(node).parent;
  }

  name(node: NodeSlot): string {
    return this.#record(node).name;
  }

  data(node: NodeSlot): Uint8Array {
    return this.#record(node).data;
  }

  czxid(node: NodeSlot): number {
    return this.#record(node).czxid;
  }

  ctime(node: NodeSlot): number {
    return this.#record(node).ctime;
  }

  version(node: NodeSlot): number {
    return this.#record(node).version;
  }

  ephemeralOwner(node: NodeSlot): number {
    return this.#record(node).ephemeralOwner;
  }

  stat(node: NodeSlot): Stat {
    const record = this.#record(node);
    return {
      czxid: record.czxid,
      mzxid: record.mzxid,
      pzxid: record.pzxid,
      ctime: record.ctime,
      mtime: record.mtime,
      version: record.version,
      cversion: record.cversion,
      aversion: 0,
      ephemeralOwner: record.ephemeralOwner,
      dataLength: record.data.length,
      numChildren: record.children?.size ?? 0,
    };
  }

  create(node: NewNode): NodeSlot {
    const parent = this.#record(node.parent);
    invariant(parent.ephemeralOwner === 0, 'an ephemeral node has no children');
    parent.children ??= new Map();
    invariant(!parent.children.has(node.name), 'a new node has a name of its own');

    this.#capture.node(node.parent);
    const slot = this.#free.pop() ?? (this.#records.length as NodeSlot);
    this.#records[slot] = newRecord(node);
    parent.children.set(node.name, slot);
    parent.creations += 1;
    parent.cversion += 1;
    parent.pzxid = node.index;
    this.#dataBytes += node.data.length;
    this.#fold.mix(node.index);
    this.#fold.mix(parent.czxid);
    return slot;
  }

  setData(node: NodeSlot, data: Uint8Array, index: number, stamp: number): void {
    const record = this.#record(node);
    this.#capture.node(node);
    this.#dataBytes += data.length - record.data.length;
    record.data = data;
    record.mzxid = index;
    record.mtime = stamp;
    record.version += 1;
    this.#fold.mix(record.czxid);
    this.#fold.mix(record.version);
  }

  markGranted(node: NodeSlot, token: number): void {
    const record = this.#record(node);
    this.#capture.node(node);
    record.mzxid = token;
    this.#fold.mix(record.czxid);
    this.#fold.mix(token);
  }

  remove(node: NodeSlot, index: number): void {
    invariant(node !== ROOT, 'the root is never removed');
    const record = this.#record(node);
    invariant((record.children?.size ?? 0) === 0, 'a node that is removed has no children');
    const parent = this.#record(record.parent);
    this.#capture.node(node);
    this.#capture.node(record.parent);
    const unlinked = parent.children?.delete(record.name) ?? false;
    invariant(unlinked, 'a node is among the children of its parent');
    parent.cversion += 1;
    parent.pzxid = index;
    this.#dataBytes -= record.data.length;
    this.#records[node] = undefined;
    this.#free.push(node);
    this.#fold.mix(record.czxid);
    this.#fold.mix(parent.czxid);
  }

  changing(node: NodeSlot): void {
    this.#capture.node(node);
  }

  image(slot: NodeSlot): NodeImage | undefined {
    return this.#records[slot];
  }

  freeSlots(): NodeSlot[] {
    return [...this.#free];
  }

  beginRestore(slots: number): void {
    // Made by pushing, not by its length: an array of that many holes would be a slower one for ever.
    this.#records = [];
    while (this.#records.length < slots) this.#records.push(undefined);
    this.#free = [];
    this.#dataBytes = 0;
  }

  place(slot: NodeSlot, node: NodeImage): boolean {
    if (slot >= this.#records.length) throw malformed(`has a node in slot ${slot} of ${this.#records.length}`);
    if (this.#records[slot] !== undefined) throw malformed(`has two nodes in slot ${slot}`);
    if (slot === ROOT) {
      const sound = node.parent === ROOT && node.name === '' && node.ephemeralOwner === 0;
      if (!sound) throw malformed('has a root that cannot be');
    } else {
      const parent = this.#records[node.parent];
      if (parent === undefined) return false;
      addChild(parent, slot, node);
    }
    this.#records[slot] = restoredRecord(node);
    this.#dataBytes += node.data.length;
    return true;
  }

  restoreFree(slots: readonly NodeSlot[]): void {
    const free = new Set(slots);
    const empty = this.#records.reduce((count, record) => count + (record === undefined ? 1 : 0), 0);
    const distinct = free.size === slots.length && slots.length === empty;
    wellFormed(
      distinct && slots.every((slot) => slot < this.#records.length && this.#records[slot] === undefined),
      () => 'has free slots that are not those without a node',
    );
    this.#free = [...slots];
  }

  #record(node: NodeSlot): NodeRecord {
    const record = this.#records[node];
    invariant(record !== undefined, 'a slot that is used has a node');
    return record;
  }
}

/** @throws SnapshotError */
function addChild(parent: NodeRecord, slot: NodeSlot, { name }: NodeImage): void {
  if (parent.ephemeralOwner !== 0) throw malformed('has an ephemeral node with children');
  if (!isNodeName(name)) throw malformed(`has a node "${name}"`);
  parent.children ??= new Map();
  const before = parent.children.size;
  parent.children.set(name, slot);
  if (parent.children.size === before) throw malformed(`has two nodes "${name}" under one parent`);
}

/** With its fields in the order of {@link newRecord}, so that both are of one shape. */
function restoredRecord(node: NodeImage): NodeRecord {
  return {
    name: node.name,
    parent: node.parent,
    czxid: node.czxid,
    ctime: node.ctime,
    ephemeralOwner: node.ephemeralOwner,
    data: node.data,
    mzxid: node.mzxid,
    pzxid: node.pzxid,
    mtime: node.mtime,
    version: node.version,
    cversion: node.cversion,
    creations: node.creations,
    children: undefined,
  };
}

function newRecord(node: NewNode): NodeRecord {
  return {
    name: node.name,
    parent: node.parent,
    czxid: node.index,
    ctime: node.stamp,
    ephemeralOwner: node.ephemeralOwner,
    data: node.data,
    mzxid: node.index,
    pzxid: node.index,
    mtime: node.stamp,
    version: 0,
    cversion: 0,
    creations: 0,
    children: undefined,
  };
}
