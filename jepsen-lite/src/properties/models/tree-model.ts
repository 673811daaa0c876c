/** The nodes that are not reserved, as plainly as they can be said: a map from paths, with ZooKeeper's rules and its order of checks. */

import {
  CreateMode,
  isEphemeral,
  isReservedPath,
  isSequential,
  parentPath,
  pathProblem,
  type Command,
  type ErrorCode,
  type Stat,
} from '@holdfast/protocol';

export interface ModelNode {
  readonly czxid: number;
  readonly ctime: number;
  readonly ephemeralOwner: number;
  data: string;
  mzxid: number;
  mtime: number;
  pzxid: number;
  version: number;
  cversion: number;
  /** Children ever created, by which sequential ones are named. */
  creations: number;
}

/** When and by whom a command is applied, and how much the tree may grow. */
export interface Occasion {
  readonly index: number;
  readonly stamp: number;
  readonly session: number;
  readonly nodesLeft: number;
  readonly bytesLeft: number;
}

const MODES: readonly number[] = Object.values(CreateMode);

/** Undefined: done, and the path tells of which node. */
export type Outcome = { readonly error: ErrorCode } | { readonly path: string };

export class TreeModel {
  /** The root has /holdfast from the beginning. */
  readonly nodes = new Map<string, ModelNode>([['/', { ...newNode(0, 0, 0, ''), cversion: 1, creations: 1 }]]);

  create(command: Extract<Command, { type: 'create' }>, occasion: Occasion): Outcome {
    const { index, stamp, session, nodesLeft, bytesLeft } = occasion;
    if (!MODES.includes(command.mode)) return { error: 'UNSUPPORTED' };
    if (isReservedPath(command.path)) return { error: 'RESERVED_PATH' };
    if (!command.path.startsWith('/')) return { error: 'INVALID_ARGUMENT' };
    const parent = this.nodes.get(parentPath(command.path));
    if (parent === undefined) return { error: 'NOT_FOUND' };
    const path = isSequential(command.mode) ? command.path + String(parent.creations).padStart(10, '0') : command.path;
    if (pathProblem(path) !== undefined) return { error: 'INVALID_ARGUMENT' };
    if (this.nodes.has(path)) return { error: 'NODE_EXISTS' };
    if (parent.ephemeralOwner !== 0) return { error: 'EPHEMERAL_PARENT' };
    const { length } = command.data;
    if (nodesLeft < 1 || (length > 0 && bytesLeft < length)) return { error: 'LIMIT_EXCEEDED' };
    this.nodes.set(path, newNode(index, stamp, isEphemeral(command.mode) ? session : 0, text(command.data)));
    parent.creations += 1;
    childChanged(parent, index);
    return { path };
  }

  set(command: Extract<Command, { type: 'set' }>, { index, stamp, bytesLeft }: Occasion): Outcome {
    const { path, data } = command;
    if (isReservedPath(path)) return { error: 'RESERVED_PATH' };
    const node = this.nodes.get(path);
    if (node === undefined) return this.#missing(path);
    if (command.version !== -1 && command.version !== node.version) return { error: 'BAD_VERSION' };
    const more = data.length - node.data.length;
    if (more > 0 && bytesLeft < more) return { error: 'LIMIT_EXCEEDED' };
    Object.assign(node, { data: text(data), mzxid: index, mtime: stamp, version: node.version + 1 });
    return { path };
  }

  delete({ path, version }: Extract<Command, { type: 'delete' }>, { index }: Occasion): Outcome {
    if (path === '/') return { error: 'INVALID_ARGUMENT' };
    const node = this.nodes.get(path);
    if (node === undefined) return this.#missing(path);
    if (version !== -1 && version !== node.version) return { error: 'BAD_VERSION' };
    if (this.children(path).length > 0) return { error: 'NOT_EMPTY' };
    this.#remove(path, index);
    return { path };
  }

  /** Its oldest nodes go. */
  endSession(session: number, index: number, count = Infinity): void {
    const own = [...this.nodes].filter(([, node]) => node.ephemeralOwner === session);
    own.sort(([, left], [, right]) => left.czxid - right.czxid);
    for (const [path] of own.slice(0, count)) this.#remove(path, index);
  }

  children(path: string): string[] {
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.nodes.keys()]
      .filter((other) => other !== '/' && parentPath(other) === path)
      .map((child) => child.slice(prefix.length));
  }

  stat(path: string, node: ModelNode): Stat {
    const { czxid, mzxid, pzxid, ctime, mtime, version, cversion, ephemeralOwner, data } = node;
    // The root has /holdfast beside what is modelled.
    const numChildren = this.children(path).length + (path === '/' ? 1 : 0);
    const dataLength = data.length;
    return {
      czxid,
      mzxid,
      pzxid,
      ctime,
      mtime,
      version,
      cversion,
      aversion: 0,
      ephemeralOwner,
      dataLength,
      numChildren,
    };
  }

  #missing(path: string): Outcome {
    return { error: pathProblem(path) === undefined ? 'NOT_FOUND' : 'INVALID_ARGUMENT' };
  }

  #remove(path: string, index: number): void {
    this.nodes.delete(path);
    const parent = this.nodes.get(parentPath(path));
    if (parent !== undefined) childChanged(parent, index);
  }
}

function newNode(index: number, stamp: number, ephemeralOwner: number, data: string): ModelNode {
  const times = { czxid: index, ctime: stamp, mzxid: index, mtime: stamp, pzxid: index };
  return { ...times, ephemeralOwner, data, version: 0, cversion: 0, creations: 0 };
}

function childChanged(parent: ModelNode, index: number): void {
  parent.cversion += 1;
  parent.pzxid = index;
}

function text(data: Uint8Array): string {
  return String.fromCharCode(...data);
}
