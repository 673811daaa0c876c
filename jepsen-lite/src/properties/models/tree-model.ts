/** The nodes that are not reserved, as plainly as they can be said: a map from paths, with ZooKeeper's rules and its order of checks. */

import {
  CreateMode,
  isEphemeral,
  isReservedPath,
  isSequential,
  MAX_TTL_MS,
  parentPath,
  pathProblem,
  type ErrorCode,
  type Operation,
  type Stat,
  type UnusedNode,
} from '@holdfast/protocol';
import { VERSIONS } from '@holdfast/state';

import { isQueueNode, type ReservedNodes } from './reserved-nodes.ts';

export interface ModelNode {
  readonly czxid: number;
  readonly ctime: number;
  readonly ephemeralOwner: number;
  readonly container: boolean;
  /** 0 for none. */
  readonly ttlMs: number;
  noData: boolean;
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
  /** The state version. */
  readonly version: number;
}

/** A creation by any command. */
export interface Creation {
  readonly path: string;
  /** Undefined for none. */
  readonly data: Uint8Array | undefined;
  readonly mode: number;
  readonly ttlMs: number;
}

/** Undefined: done, and the path tells of which node. */
export type Outcome = { readonly error: ErrorCode } | { readonly path: string };

/** What a transaction did: the number that each operation answers, or which failed. */
export type TransactionOutcome =
  | { readonly results: readonly number[] }
  | { readonly operation: number; readonly error: ErrorCode };

/** As they are counted among the data: a head of each extra, and its bytes. */
const EXTRA_HEAD_BYTES = 4;
const CONTAINER_BYTES = 1;
const TTL_BYTES = 9;
/** From which state version on U+0000 in a path is looked for first. */
const NUL_FIRST = 3;

export class TreeModel {
  /** The root has /holdfast from the beginning. */
  readonly nodes = new Map<string, ModelNode>([['/', { ...newNode(0, 0, 0, ''), cversion: 1, creations: 1 }]]);

  create(command: Creation, occasion: Occasion): Outcome {
    const { index, stamp, session, nodesLeft, bytesLeft, version } = occasion;
    const { mode, ttlMs } = command;
    if (!modesOf(version).includes(mode)) return { error: 'UNSUPPORTED' };
    const timed = mode === CreateMode.persistentTtl || mode === CreateMode.persistentSequentialTtl;
    if (timed ? ttlMs < 1 || ttlMs > MAX_TTL_MS : ttlMs !== 0) return { error: 'INVALID_ARGUMENT' };
    if (isReservedPath(command.path)) return { error: 'RESERVED_PATH' };
    if (!command.path.startsWith('/')) return { error: 'INVALID_ARGUMENT' };
    if (version >= NUL_FIRST && command.path.includes('\0')) return { error: 'INVALID_ARGUMENT' };
    const parent = this.nodes.get(parentPath(command.path));
    if (parent === undefined) return { error: 'NOT_FOUND' };
    const path = isSequential(command.mode) ? command.path + String(parent.creations).padStart(10, '0') : command.path;
    if (pathProblem(path) !== undefined) return { error: 'INVALID_ARGUMENT' };
    if (this.nodes.has(path)) return { error: 'NODE_EXISTS' };
    if (parent.ephemeralOwner !== 0) return { error: 'EPHEMERAL_PARENT' };
    const owner = isEphemeral(mode) ? session : 0;
    const kind = { container: mode === CreateMode.container, ttlMs, noData: command.data === undefined };
    const node = { ...newNode(index, stamp, owner, text(command.data)), ...kind };
    const more = bytesOf(node);
    if (nodesLeft < 1 || (more > 0 && bytesLeft < more)) return { error: 'LIMIT_EXCEEDED' };
    this.nodes.set(path, node);
    parent.creations += 1;
    childChanged(parent, index);
    return { path };
  }

  set(
    command: { readonly path: string; readonly data: Uint8Array | undefined; readonly version: number },
    { index, stamp, bytesLeft }: Occasion,
  ): Outcome {
    const { path, data } = command;
    if (isReservedPath(path)) return { error: 'RESERVED_PATH' };
    const node = this.nodes.get(path);
    if (node === undefined) return this.#missing(path);
    if (command.version !== -1 && command.version !== node.version) return { error: 'BAD_VERSION' };
    const next = { ...node, data: text(data), noData: data === undefined };
    const more = bytesOf(next) - bytesOf(node);
    if (more > 0 && bytesLeft < more) return { error: 'LIMIT_EXCEEDED' };
    Object.assign(node, next, { mzxid: index, mtime: stamp, version: node.version + 1 });
    return { path };
  }

  delete({ path, version }: { readonly path: string; readonly version: number }, { index }: Occasion): Outcome {
    if (path === '/') return { error: 'INVALID_ARGUMENT' };
    const node = this.nodes.get(path);
    if (node === undefined) return this.#missing(path);
    if (version !== -1 && version !== node.version) return { error: 'BAD_VERSION' };
    if (this.children(path).length > 0) return { error: 'NOT_EMPTY' };
    this.#remove(path, index);
    return { path };
  }

  /** Does one operation after the other, or nothing, if one fails. */
  transaction(operations: readonly Operation[], occasion: Occasion, reserved: ReservedNodes): TransactionOutcome {
    const before = new Map([...this.nodes].map(([path, node]) => [path, { ...node }]));
    const results: number[] = [];
    let { nodesLeft, bytesLeft } = occasion;
    const restore = (): void => {
      this.nodes.clear();
      for (const [path, node] of before) this.nodes.set(path, node);
    };
    for (const [place, operation] of operations.entries()) {
      const [size, bytes] = [this.nodes.size + reserved.size, this.bytes + reserved.bytes];
      const outcome = this.#operation(operation, { ...occasion, nodesLeft, bytesLeft }, reserved);
      if ('error' in outcome) {
        restore();
        return { operation: place, error: outcome.error };
      }
      nodesLeft -= this.nodes.size + reserved.size - size;
      bytesLeft -= this.bytes + reserved.bytes - bytes;
      results.push(this.#numberOf(operation, outcome.path));
    }
    return { results };
  }

  /** All data, and what kinds take. */
  get bytes(): number {
    return [...this.nodes.values()].reduce((sum, node) => sum + bytesOf(node), 0);
  }

  /** What the leader found unused, if it still is. */
  removeUnused(unused: readonly UnusedNode[], index: number): void {
    for (const { path, czxid, mzxid } of unused) {
      const node = this.nodes.get(path);
      if (node === undefined || node.czxid !== czxid || this.children(path).length > 0) continue;
      if (node.container ? node.creations > 0 && mzxid === 0 : node.ttlMs > 0 && node.mzxid === mzxid)
        this.#remove(path, index);
    }
  }

  /** Its oldest nodes go; of those that one entry made, those that are gone: which go first is the same on every machine, no more. */
  endSession(session: number, index: number, isGone: (path: string) => boolean, count = Infinity): void {
    const own = [...this.nodes].filter(([, node]) => node.ephemeralOwner === session);
    own.sort(
      ([path, left], [other, right]) => left.czxid - right.czxid || Number(isGone(other)) - Number(isGone(path)),
    );
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

  #operation(operation: Operation, occasion: Occasion, reserved: ReservedNodes): Outcome {
    switch (operation.type) {
      case 'check': {
        const { path, version } = operation;
        const node = isReservedPath(path) ? reserved.find(path) : this.nodes.get(path);
        if (node === undefined) return this.#missing(path);
        return version === -1 || version === node.version ? { path } : { error: 'BAD_VERSION' };
      }
      case 'create':
        return this.create({ ...operation, data: operation.data[0] }, occasion);
      case 'set':
        return this.set({ ...operation, data: operation.data[0] }, occasion);
      case 'delete':
        return isReservedPath(operation.path)
          ? this.#revoke(operation.path, operation.version, reserved)
          : this.delete(operation, occasion);
    }
  }

  /** Of what is reserved only queue nodes are deleted. */
  #revoke(path: string, version: number, reserved: ReservedNodes): Outcome {
    const stat = reserved.find(path);
    if (stat === undefined) return this.#missing(path);
    if (!isQueueNode(stat)) return { error: 'RESERVED_PATH' };
    if (version !== -1 && version !== stat.version) return { error: 'BAD_VERSION' };
    reserved.revoke(stat.czxid);
    return { path };
  }

  #numberOf(operation: Operation, path: string): number {
    if (operation.type === 'set') return this.nodes.get(path)?.version ?? 0;
    return operation.type === 'create' && isSequential(operation.mode) ? Number(path.slice(-10)) : 0;
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
  const kind = { container: false, ttlMs: 0, noData: false };
  return { ...times, ...kind, ephemeralOwner, data, version: 0, cversion: 0, creations: 0 };
}

function modesOf(version: number): readonly number[] {
  const names = Object.keys(CreateMode) as (keyof typeof CreateMode)[];
  return names.filter((name) => VERSIONS.createModes[name] <= version).map((name) => CreateMode[name]);
}

function bytesOf({ data, container, ttlMs, noData }: ModelNode): number {
  const lifetime = container ? EXTRA_HEAD_BYTES + CONTAINER_BYTES : ttlMs > 0 ? EXTRA_HEAD_BYTES + TTL_BYTES : 0;
  return data.length + lifetime + (noData ? EXTRA_HEAD_BYTES : 0);
}

function childChanged(parent: ModelNode, index: number): void {
  parent.cversion += 1;
  parent.pzxid = index;
}

function text(data: Uint8Array = new Uint8Array()): string {
  return String.fromCharCode(...data);
}
