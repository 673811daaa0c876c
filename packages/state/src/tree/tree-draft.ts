/**
 * A tree as changes that are not made yet will leave it: what they touch is kept here, everything else is asked of the tree below, which
 * stays as it is. Nodes that do not exist yet have stand-ins for slots, below zero. Most of what is drafted are thousands of alike
 * changes, so that little is kept for each: of a node that goes nothing but that.
 */

import { invariant } from '../invariant.ts';
import type { NodeSlot } from './node-slot.ts';
import { SlotSet } from './slot-set.ts';
import { storedNameBytes } from './storage/stored-name.ts';
import type { TreeView } from './tree-view.ts';

export interface DraftedNode {
  readonly parent: NodeSlot;
  readonly name: string;
  readonly ephemeralOwner: number;
  readonly dataLength: number;
  readonly hasData: boolean;
  /** Of all its extras, as they are counted among the data. */
  readonly extraBytes: number;
}

/** Of a node that a change touches: what it will have. */
interface Overlay {
  dataLength: number;
  hasData: boolean;
  extraBytes: number;
  version: number;
  children: number;
  creations: number;
}

export class TreeDraft implements TreeView {
  readonly #below: TreeView;
  readonly #overlays = new Map<NodeSlot, Overlay>();
  /** Nodes of the tree below that will not be there. */
  readonly #removed = new SlotSet();
  /** By their stand-ins: −1 is the first. */
  readonly #drafted: DraftedNode[] = [];
  /** By parent and name: those of them that will be there. */
  readonly #children = new Map<NodeSlot, Map<string, NodeSlot>>();
  /** The directory below that was looked into last, and its path with the slash behind it: most changes come side by side. */
  #directory: NodeSlot | undefined;
  #directoryPath = '';
  size: number;
  dataBytes: number;
  nameBytes: number;

  constructor(below: TreeView) {
    this.#below = below;
    this.size = below.size;
    this.dataBytes = below.dataBytes;
    this.nameBytes = below.nameBytes;
  }

  find(path: string): NodeSlot | undefined {
    // What goes has no children, so that whoever stays has all nodes above.
    const below = this.#findInTree(path);
    if (below !== undefined && !this.#removed.has(below)) return below;
    if (this.#drafted.length === 0 || !path.startsWith('/')) return undefined;
    const root = this.#below.find('/');
    return root === undefined ? undefined : this.findBelow(root, path, 1);
  }

  findBelow(top: NodeSlot, path: string, from: number): NodeSlot | undefined {
    let node: NodeSlot | undefined = top;
    for (const name of path.slice(from).split('/')) {
      if (node === undefined) return undefined;
      node = this.child(node, name);
    }
    return node;
  }

  child(parent: NodeSlot, name: string): NodeSlot | undefined {
    const below = isStandIn(parent) ? undefined : this.#below.child(parent, name);
    if (below !== undefined && !this.#removed.has(below)) return below;
    return this.#children.get(parent)?.get(name);
  }

  childCount(node: NodeSlot): number {
    return this.#overlays.get(node)?.children ?? this.#below.childCount(node);
  }

  creations(node: NodeSlot): number {
    return this.#overlays.get(node)?.creations ?? this.#below.creations(node);
  }

  parent(node: NodeSlot): NodeSlot {
    return isStandIn(node) ? this.#draftedAt(node).parent : this.#below.parent(node);
  }

  name(node: NodeSlot): string {
    return isStandIn(node) ? this.#draftedAt(node).name : this.#below.name(node);
  }

  nameBytesOf(node: NodeSlot): number {
    return isStandIn(node) ? storedNameBytes(this.#draftedAt(node).name) : this.#below.nameBytesOf(node);
  }

  dataLength(node: NodeSlot): number {
    return this.#overlays.get(node)?.dataLength ?? this.#below.dataLength(node);
  }

  extraBytes(node: NodeSlot): number {
    return this.#overlays.get(node)?.extraBytes ?? this.#below.extraBytes(node);
  }

  hasData(node: NodeSlot): boolean {
    return this.#overlays.get(node)?.hasData ?? this.#below.hasData(node);
  }

  version(node: NodeSlot): number {
    return this.#overlays.get(node)?.version ?? this.#below.version(node);
  }

  ephemeralOwner(node: NodeSlot): number {
    return isStandIn(node) ? this.#draftedAt(node).ephemeralOwner : this.#below.ephemeralOwner(node);
  }

  /** Returns the stand-in of the new node. */
  create(drafted: DraftedNode): NodeSlot {
    const { parent, name, dataLength, hasData, extraBytes } = drafted;
    invariant(this.child(parent, name) === undefined, 'a new node has a name of its own');
    this.#drafted.push(drafted);
    const node = -this.#drafted.length as NodeSlot;
    this.#overlays.set(node, { dataLength, hasData, extraBytes, version: 0, children: 0, creations: 0 });
    const above = this.#overlay(parent);
    above.children += 1;
    above.creations += 1;
    const children = this.#children.get(parent);
    if (children === undefined) this.#children.set(parent, new Map([[name, node]]));
    else children.set(name, node);
    this.size += 1;
    this.dataBytes += dataLength + extraBytes;
    this.nameBytes += storedNameBytes(name);
    return node;
  }

  /** `extraBytes`: more than before. */
  setData(node: NodeSlot, dataLength: number, hasData: boolean, extraBytes: number): void {
    const overlay = this.#overlay(node);
    this.dataBytes += dataLength - overlay.dataLength + extraBytes;
    overlay.dataLength = dataLength;
    overlay.hasData = hasData;
    overlay.extraBytes += extraBytes;
    overlay.version += 1;
  }

  /** Its extras grow by that. */
  addExtraBytes(node: NodeSlot, more: number): void {
    this.#overlay(node).extraBytes += more;
    this.dataBytes += more;
  }

  remove(node: NodeSlot): void {
    const below = this.#below;
    const own = this.#overlays.get(node);
    invariant((own?.children ?? below.childCount(node)) === 0, 'a node that is removed has no children');
    const parent = this.parent(node);
    this.size -= 1;
    this.dataBytes -=
      own === undefined ? below.dataLength(node) + below.extraBytes(node) : own.dataLength + own.extraBytes;
    this.nameBytes -= this.nameBytesOf(node);
    this.#overlay(parent).children -= 1;
    if (isStandIn(node)) this.#children.get(parent)?.delete(this.name(node));
    else this.#removed.add(node);
    if (own !== undefined) this.#overlays.delete(node);
  }

  /** As the tree below has it, whatever is drafted: that stays what it is, so that its directory need not be looked for again. */
  #findInTree(path: string): NodeSlot | undefined {
    const below = this.#below;
    const known = this.#directoryPath;
    if (known === '' || !path.startsWith(known) || path.includes('/', known.length)) {
      const slash = path.lastIndexOf('/');
      // Nothing that is in no directory, and "//" is none.
      if (slash <= 1) return below.find(path);
      this.#directoryPath = path.slice(0, slash + 1);
      this.#directory = below.find(path.slice(0, slash));
    }
    const directory = this.#directory;
    return directory === undefined ? undefined : below.findBelow(directory, path, this.#directoryPath.length);
  }

  #draftedAt(standIn: NodeSlot): DraftedNode {
    const drafted = this.#drafted[placeOfStandIn(standIn)];
    invariant(drafted !== undefined, 'a stand-in stands for a node');
    return drafted;
  }

  #overlay(node: NodeSlot): Overlay {
    const known = this.#overlays.get(node);
    if (known !== undefined) return known;
    const below = this.#below;
    const overlay = {
      dataLength: below.dataLength(node),
      hasData: below.hasData(node),
      extraBytes: below.extraBytes(node),
      version: below.version(node),
      children: below.childCount(node),
      creations: below.creations(node),
    };
    this.#overlays.set(node, overlay);
    return overlay;
  }
}

/** Which of the creations of a draft it stands for, from 0. */
export function placeOfStandIn(standIn: NodeSlot): number {
  return -1 - standIn;
}

/** Whether the node is still to be made. */
export function isStandIn(node: NodeSlot): boolean {
  return node < 0;
}
