/**
 * A tree as changes that are not made yet will leave it: what they touch is kept here, everything else is asked of the tree below, which
 * stays as it is. Nodes that do not exist yet have stand-ins for slots, below zero.
 */

import { invariant } from '../invariant.ts';
import type { NodeSlot } from './node-slot.ts';
import { storedNameBytes } from './storage/stored-name.ts';
import type { TreeView } from './tree-view.ts';

export interface DraftedNode {
  readonly parent: NodeSlot;
  readonly name: string;
  readonly ephemeralOwner: number;
  readonly dataLength: number;
}

/** A node that a change touches, as it will be. */
interface Overlay extends DraftedNode {
  dataLength: number;
  readonly extraBytes: number;
  version: number;
  children: number;
  creations: number;
}

export class TreeDraft implements TreeView {
  readonly #below: TreeView;
  readonly #overlays = new Map<NodeSlot, Overlay>();
  /** By parent: children that will be there, and (undefined) that will not. */
  readonly #children = new Map<NodeSlot, Map<string, NodeSlot | undefined>>();
  #standIns = 0;
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
    let node = this.#below.find('/');
    if (path === '/') return node;
    if (!path.startsWith('/')) return undefined;
    for (const name of path.slice(1).split('/')) {
      if (node === undefined) return undefined;
      node = this.child(node, name);
    }
    return node;
  }

  child(parent: NodeSlot, name: string): NodeSlot | undefined {
    const drafted = this.#children.get(parent);
    if (drafted?.has(name) === true) return drafted.get(name);
    return isStandIn(parent) ? undefined : this.#below.child(parent, name);
  }

  childCount(node: NodeSlot): number {
    return this.#overlays.get(node)?.children ?? this.#below.childCount(node);
  }

  creations(node: NodeSlot): number {
    return this.#overlays.get(node)?.creations ?? this.#below.creations(node);
  }

  parent(node: NodeSlot): NodeSlot {
    return this.#overlays.get(node)?.parent ?? this.#below.parent(node);
  }

  name(node: NodeSlot): string {
    return this.#overlays.get(node)?.name ?? this.#below.name(node);
  }

  dataLength(node: NodeSlot): number {
    return this.#overlays.get(node)?.dataLength ?? this.#below.dataLength(node);
  }

  extraBytes(node: NodeSlot): number {
    return this.#overlays.get(node)?.extraBytes ?? this.#below.extraBytes(node);
  }

  version(node: NodeSlot): number {
    return this.#overlays.get(node)?.version ?? this.#below.version(node);
  }

  ephemeralOwner(node: NodeSlot): number {
    return this.#overlays.get(node)?.ephemeralOwner ?? this.#below.ephemeralOwner(node);
  }

  /** Returns the stand-in of the new node. */
  create({ parent, name, ephemeralOwner, dataLength }: DraftedNode): NodeSlot {
    invariant(this.child(parent, name) === undefined, 'a new node has a name of its own');
    this.#standIns += 1;
    const node = -this.#standIns as NodeSlot;
    const empty = { extraBytes: 0, version: 0, children: 0, creations: 0 };
    this.#overlays.set(node, { parent, name, ephemeralOwner, dataLength, ...empty });
    const above = this.#overlay(parent);
    above.children += 1;
    above.creations += 1;
    this.#setChild(parent, name, node);
    this.size += 1;
    this.dataBytes += dataLength;
    this.nameBytes += storedNameBytes(name);
    return node;
  }

  setData(node: NodeSlot, dataLength: number): void {
    const overlay = this.#overlay(node);
    this.dataBytes += dataLength - overlay.dataLength;
    overlay.dataLength = dataLength;
    overlay.version += 1;
  }

  remove(node: NodeSlot): void {
    const { parent, name, dataLength, extraBytes, children } = this.#overlay(node);
    invariant(children === 0, 'a node that is removed has no children');
    this.#overlay(parent).children -= 1;
    this.#setChild(parent, name, undefined);
    this.#overlays.delete(node);
    this.size -= 1;
    this.dataBytes -= dataLength + extraBytes;
    this.nameBytes -= storedNameBytes(name);
  }

  #setChild(parent: NodeSlot, name: string, child: NodeSlot | undefined): void {
    let children = this.#children.get(parent);
    if (children === undefined) this.#children.set(parent, (children = new Map()));
    children.set(name, child);
  }

  #overlay(node: NodeSlot): Overlay {
    const known = this.#overlays.get(node);
    if (known !== undefined) return known;
    const below = this.#below;
    const overlay = {
      parent: below.parent(node),
      name: below.name(node),
      ephemeralOwner: below.ephemeralOwner(node),
      dataLength: below.dataLength(node),
      extraBytes: below.extraBytes(node),
      version: below.version(node),
      children: below.childCount(node),
      creations: below.creations(node),
    };
    this.#overlays.set(node, overlay);
    return overlay;
  }
}

/** Whether the node is still to be made. */
export function isStandIn(node: NodeSlot): boolean {
  return node < 0;
}
