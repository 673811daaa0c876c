/**
 * Names on a simulated disk. Each directory has the entries that a program sees and those that survive a power failure;
 * they differ by the creations, renames and removals since the directory was last synced.
 */

import type { Random } from '../../random.ts';
import { DiskError } from '../../disk.ts';
import { DiskContent } from './disk-content.ts';
import type { Tear } from './disk-content.ts';
import type { Struck } from '../struck.ts';

export interface FileNode {
  readonly type: 'file';
  readonly content: DiskContent;
}

/** One step between the durable entries and those seen: sets a name, or removes it. */
export interface NameChange {
  readonly names: Map<string, TreeNode | undefined>;
}

export interface DirectoryNode {
  readonly type: 'directory';
  readonly entries: Map<string, TreeNode>;
  durable: Map<string, TreeNode>;
  pending: NameChange[];
}

export type TreeNode = FileNode | DirectoryNode;

interface Place {
  readonly directory: DirectoryNode;
  readonly name: string;
}

export class DiskTree {
  readonly #root = newDirectory();

  find(path: string): TreeNode | undefined {
    return this.#at(namesOf(path));
  }

  directory(path: string): DirectoryNode {
    return this.#directoryAt(namesOf(path));
  }

  file(path: string): FileNode {
    const node = this.find(path);
    if (node === undefined) throw notFound(path, 'file');
    if (node.type === 'directory') throw new DiskError('IO', path, `"${path}" is a directory, not a file (EISDIR)`);
    return node;
  }

  create(path: string): FileNode {
    const { directory, name } = this.#placeOf(path);
    if (directory.entries.has(name)) throw new DiskError('EXISTS', path, `"${path}" exists already (EEXIST)`);
    const file: FileNode = { type: 'file', content: new DiskContent() };
    change(directory, [[name, file]]);
    return file;
  }

  /** Durable at once, with all parents. */
  makeDirectory(path: string): void {
    let node: TreeNode = this.#root;
    for (const name of namesOf(path)) {
      let next: TreeNode | undefined = node.entries.get(name);
      if (next?.type === 'file') throw new DiskError('EXISTS', path, `"${path}" or a parent of it is a file (EEXIST)`);
      next ??= newDirectory();
      if (!node.entries.has(name)) change(node, [[name, next]]);
      keepName(node, name, next);
      node = next;
    }
  }

  rename(from: string, to: string): void {
    const source = this.#placeOf(from);
    const target = this.#placeOf(to);
    const node = source.directory.entries.get(source.name);
    if (node === undefined) throw notFound(from, 'file');
    if (target.directory.entries.get(target.name) === node) return;
    if (target.directory.entries.get(target.name)?.type === 'directory') {
      throw new DiskError('IO', to, `cannot rename "${from}" to "${to}": a directory is there (EISDIR)`);
    }
    if (source.directory === target.directory) {
      change(source.directory, [
        [source.name, undefined],
        [target.name, node],
      ]);
      return;
    }
    change(target.directory, [[target.name, node]]);
    change(source.directory, [[source.name, undefined]]);
  }

  remove(path: string): void {
    this.file(path);
    const { directory, name } = this.#placeOf(path);
    change(directory, [[name, undefined]]);
  }

  /** No error when nothing is there. */
  removeTree(path: string): void {
    if (this.find(path) === undefined) return;
    const { directory, name } = this.#placeOf(path);
    change(directory, [[name, undefined]]);
  }

  /** Makes those of the changes durable that another sync has not yet made so. */
  sync(directory: DirectoryNode, covered: readonly NameChange[]): void {
    for (const each of covered) if (directory.pending.includes(each)) applyNames(directory.durable, each.names);
    directory.pending = directory.pending.filter((each) => !covered.includes(each));
  }

  /** Everything is gone, durably. */
  clear(): void {
    this.#root.entries.clear();
    this.#root.durable.clear();
    this.#root.pending = [];
  }

  powerFailure(tear: Tear, random: Random, struck: Struck): void {
    failDirectory(this.#root, { tear, random, struck, done: new Set() });
  }

  usedBytes(): number {
    return usedBytes(this.#root);
  }

  /** Paths of all files, sorted; `durable`: those that a power failure would leave. */
  files(durable: boolean): string[] {
    return [...filesUnder(this.#root, '', durable)].toSorted();
  }

  durableFile(path: string): FileNode | undefined {
    let node: TreeNode | undefined = this.#root;
    for (const name of namesOf(path)) {
      if (node?.type !== 'directory') return undefined;
      node = node.durable.get(name);
    }
    return node?.type === 'file' ? node : undefined;
  }

  #at(names: readonly string[]): TreeNode | undefined {
    let node: TreeNode | undefined = this.#root;
    for (const name of names) {
      if (node?.type !== 'directory') return undefined;
      node = node.entries.get(name);
    }
    return node;
  }

  #directoryAt(names: readonly string[]): DirectoryNode {
    const node = this.#at(names);
    if (node?.type === 'directory') return node;
    const path = `/${names.join('/')}`;
    if (node === undefined) throw notFound(path, 'directory');
    throw new DiskError('IO', path, `"${path}" is a file, not a directory (ENOTDIR)`);
  }

  #placeOf(path: string): Place {
    const names = namesOf(path);
    const name = names.at(-1);
    if (name === undefined) throw new DiskError('IO', path, `"${path}" is the root directory`);
    return { directory: this.#directoryAt(names.slice(0, -1)), name };
  }
}

function newDirectory(): DirectoryNode {
  return { type: 'directory', entries: new Map(), durable: new Map(), pending: [] };
}

function change(directory: DirectoryNode, changes: readonly (readonly [string, TreeNode | undefined])[]): void {
  const names = new Map(changes);
  applyNames(directory.entries, names);
  directory.pending.push({ names });
}

/** Makes one name durable and takes it out of the changes that are still to come. */
function keepName(directory: DirectoryNode, name: string, node: TreeNode): void {
  directory.durable.set(name, node);
  for (const { names } of directory.pending) names.delete(name);
  directory.pending = directory.pending.filter(({ names }) => names.size > 0);
}

function applyNames(entries: Map<string, TreeNode>, names: NameChange['names']): void {
  for (const [name, node] of names) {
    if (node === undefined) entries.delete(name);
    else entries.set(name, node);
  }
}

interface PowerFailure {
  readonly tear: Tear;
  readonly random: Random;
  readonly struck: Struck;
  readonly done: Set<TreeNode>;
}

/** A journal keeps the order within a directory: what survives of its changes is a prefix. */
function failDirectory(directory: DirectoryNode, failure: PowerFailure): void {
  const { tear, random, struck, done } = failure;
  const changes = directory.pending.length;
  const surviving = { none: 0, all: changes, random: random.integer(changes + 1) }[tear];
  struck.count('unsynced-name-lost', changes - surviving);
  for (const { names } of directory.pending.splice(0, surviving)) applyNames(directory.durable, names);
  directory.pending = [];
  directory.entries.clear();
  for (const name of [...directory.durable.keys()].toSorted()) {
    const node = directory.durable.get(name);
    if (node === undefined) continue;
    directory.entries.set(name, node);
    if (done.has(node)) continue;
    done.add(node);
    if (node.type === 'directory') {
      failDirectory(node, failure);
      continue;
    }
    const { lost, torn } = node.content.powerFailure(tear, random);
    struck.count('unsynced-change-lost', lost);
    struck.count('unsynced-change-torn', torn);
  }
}

function usedBytes(directory: DirectoryNode): number {
  let bytes = 0;
  for (const node of directory.entries.values()) bytes += node.type === 'file' ? node.content.length : usedBytes(node);
  return bytes;
}

function* filesUnder(directory: DirectoryNode, path: string, durable: boolean): Generator<string> {
  for (const [name, node] of durable ? directory.durable : directory.entries) {
    if (node.type === 'file') yield `${path}/${name}`;
    else yield* filesUnder(node, `${path}/${name}`, durable);
  }
}

/** Programs name the same few files again and again. */
const knownPaths = new Map<string, readonly string[]>();
const MAX_KNOWN_PATHS = 1_000;

/** Absolute and relative paths mean the same: a simulated process has `/` as its working directory. */
function namesOf(path: string): readonly string[] {
  const known = knownPaths.get(path);
  if (known !== undefined) return known;
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  if (knownPaths.size >= MAX_KNOWN_PATHS) knownPaths.clear();
  knownPaths.set(path, names);
  return names;
}

function notFound(path: string, what: string): DiskError {
  return new DiskError('NOT_FOUND', path, `there is no ${what} "${path}" (ENOENT)`);
}
