/**
 * A disk in memory that forgets at a power failure whatever was not made durable: names, contents, and any subset of the sectors
 * of a write under way. It can be told to lose power within its n-th operation, to fail, and to be full.
 */

import { DiskError, type Disk, type DiskErrorCode, type DiskFile, type DirectoryLock } from '@holdfast/runtime';
import { dirname } from 'node:path';

const SECTOR_BYTES = 512;

type Change = { readonly position: number; readonly bytes: Uint8Array } | { readonly truncateTo: number };

interface Inode {
  durable: Uint8Array;
  current: Uint8Array;
  pending: Change[];
}

export type Operation =
  | 'append'
  | 'write'
  | 'sync'
  | 'syncDirectory'
  | 'rename'
  | 'open'
  | 'remove'
  | 'makeDirectory'
  | 'read';
/** Whether one unsynced name, or one sector of an unsynced write, reached the disk all the same. */
export type Tear = 'none' | 'all' | ((path: string, what: 'name' | 'sector') => boolean);

type Name = Inode | 'directory';

export class VolatileDisk {
  operations = 0;
  /** Bytes that files may still grow by. */
  free = Infinity;
  names = new Map<string, Name>();
  readonly durableNames = new Map<string, Name>();
  readonly locked = new Set<string>();
  /** The disk as the processes of this life see it; those of an earlier life hang for ever. */
  mounted: Disk = new MountedDisk(this);
  #powerFailureAt = Infinity;
  #powerFailureIn: Operation | undefined;
  #powerFailed: (() => void) | undefined;
  #off = false;
  readonly #failures: { readonly operation: Operation; readonly code: DiskErrorCode }[] = [];

  /** Resolves when the power fails within the `count`-th operation from now, which never ends, as no later one does. */
  losePowerAt(count: number): Promise<void> {
    this.#powerFailureAt = this.operations + count;
    return new Promise((resolve) => {
      this.#powerFailed = resolve;
    });
  }

  /** Resolves when the power fails within the next `operation`; rejects when `attempt` ends without one. */
  async losePowerWhen(operation: Operation, attempt: Promise<unknown>): Promise<void> {
    const failed = new Promise<void>((resolve) => {
      this.#powerFailed = resolve;
    });
    this.#powerFailureIn = operation;
    const ended = attempt.then(() => {
      throw new Error(`no ${operation} came`);
    });
    await Promise.race([failed, ended]);
  }

  failNext(operation: Operation, code: DiskErrorCode): void {
    this.#failures.push({ operation, code });
  }

  /** What was not durable is gone; of what was under way, the sectors and names that `tear` says are kept. */
  crash(tear: Tear = 'none'): void {
    const kept = typeof tear === 'function' ? tear : () => tear === 'all';
    this.mounted = new MountedDisk(this);
    this.#off = false;
    this.#powerFailureAt = Infinity;
    this.#powerFailureIn = undefined;
    this.locked.clear();
    const inodes = new Map([...this.names, ...this.durableNames].map(([path, inode]) => [inode, path]));
    for (const [path, inode] of this.names) {
      if (this.durableNames.get(path) !== inode && kept(path, 'name')) this.#keepName(path, inode);
    }
    for (const [inode, path] of inodes) {
      if (inode === 'directory') continue;
      for (const change of inode.pending)
        inode.durable = applySectors(inode.durable, change, () => kept(path, 'sector'));
      inode.current = inode.durable.slice();
      inode.pending = [];
    }
    this.names = new Map(this.durableNames);
  }

  /** The durable bytes of a file, to change as rust does. */
  bytes(path: string): Uint8Array {
    const inode = this.inode(path);
    inode.current = inode.durable;
    return inode.durable;
  }

  /** Takes effect at once, and becomes durable (what `begin` returns) when it ends, unless the power fails before. */
  async run(by: Disk, operation: Operation, path: string, begin: () => (() => void) | void): Promise<void> {
    if (this.#off || by !== this.mounted) await never();
    const failure = this.#failures.findIndex((planned) => planned.operation === operation);
    if (failure >= 0) {
      const code = this.#failures.splice(failure, 1)[0]?.code ?? 'IO';
      throw new DiskError(code, path, `${operation} of ${path} failed: ${code}`);
    }
    const end = begin();
    this.operations += 1;
    if (this.operations === this.#powerFailureAt || operation === this.#powerFailureIn) {
      this.#off = true;
      this.#powerFailed?.();
    }
    for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
    if (this.#off || by !== this.mounted) await never();
    end?.();
  }

  inode(path: string): Inode {
    const inode = this.names.get(path);
    if (inode === undefined || inode === 'directory') throw notFound(path);
    return inode;
  }

  takeSpace(path: string, inode: Inode, change: Change): void {
    if ('truncateTo' in change) return;
    const growth = Math.max(0, change.position + change.bytes.length - inode.current.length);
    if (growth > this.free) throw new DiskError('NO_SPACE', path, `no space left on the device for ${path}`);
    this.free -= growth;
  }

  /** A name that reached the disk on its own; of a rename, the old name is gone with it. */
  #keepName(path: string, inode: Name): void {
    if (inode !== 'directory') {
      for (const [name, other] of this.durableNames) if (other === inode) this.durableNames.delete(name);
    }
    this.durableNames.set(path, inode);
  }
}

class MountedDisk implements Disk {
  readonly #device: VolatileDisk;

  constructor(device: VolatileDisk) {
    this.#device = device;
  }

  async makeDirectory(path: string): Promise<void> {
    const { names, durableNames } = this.#device;
    const chain: string[] = [];
    for (let at = path; at !== dirname(at); at = dirname(at)) chain.push(at);
    await this.#device.run(this, 'makeDirectory', path, () => {
      for (const at of chain) names.set(at, 'directory');
      return () => {
        for (const at of chain) durableNames.set(at, 'directory');
      };
    });
  }

  async list(path: string): Promise<string[]> {
    const { names } = this.#device;
    if (names.get(path) !== 'directory') throw notFound(path);
    const inside = [...names.keys()].filter((name) => dirname(name) === path);
    return inside.map((name) => name.slice(path.length + 1)).toSorted();
  }

  async open(path: string, mode: 'existing' | 'create'): Promise<DiskFile> {
    const device = this.#device;
    await device.run(this, 'open', path, () => {
      if (mode === 'existing') device.inode(path);
      else if (device.names.has(path)) throw new DiskError('EXISTS', path, `${path} exists`);
      else device.names.set(path, { durable: new Uint8Array(0), current: new Uint8Array(0), pending: [] });
    });
    return this.#file(path, device.inode(path));
  }

  async readFile(path: string): Promise<Uint8Array> {
    return this.#device.inode(path).current.slice();
  }

  async rename(from: string, to: string): Promise<void> {
    const { names } = this.#device;
    await this.#device.run(this, 'rename', from, () => {
      names.set(to, this.#device.inode(from));
      names.delete(from);
    });
  }

  async remove(path: string): Promise<void> {
    await this.#device.run(this, 'remove', path, () => {
      this.#device.inode(path);
      this.#device.names.delete(path);
    });
  }

  async removeTree(path: string): Promise<void> {
    const { names } = this.#device;
    await this.#device.run(this, 'remove', path, () => {
      for (const name of names.keys()) if (name === path || name.startsWith(`${path}/`)) names.delete(name);
    });
  }

  async syncDirectory(path: string): Promise<void> {
    const { names, durableNames } = this.#device;
    await this.#device.run(this, 'syncDirectory', path, () => {
      const inside = new Map([...names].filter(([name]) => dirname(name) === path));
      return () => {
        for (const name of durableNames.keys()) {
          if (dirname(name) === path && !inside.has(name)) durableNames.delete(name);
        }
        for (const [name, inode] of inside) durableNames.set(name, inode);
      };
    });
  }

  async freeBytes(): Promise<number> {
    return this.#device.free;
  }

  async lockDirectory(path: string): Promise<DirectoryLock> {
    const { locked } = this.#device;
    if (locked.has(path)) throw new DiskError('LOCKED', path, `${path} is locked`);
    locked.add(path);
    return {
      release: async () => {
        locked.delete(path);
      },
    };
  }

  #file(path: string, inode: Inode): DiskFile {
    const device = this.#device;
    const change = (operation: Operation, next: Change, durable: boolean) =>
      device.run(this, operation, path, () => {
        device.takeSpace(path, inode, next);
        inode.current = apply(inode.current, next);
        inode.pending.push(next);
        return () => {
          if (!durable) return;
          inode.durable = apply(inode.durable, next);
          inode.pending.splice(inode.pending.indexOf(next), 1);
        };
      });
    return {
      path,
      append: (position, buffers) =>
        change('append', { position, bytes: Uint8Array.from(Buffer.concat(buffers)) }, true),
      write: (position, bytes) => change('write', { position, bytes: bytes.slice() }, false),
      truncate: (length) => change('write', { truncateTo: length }, false),
      sync: () =>
        device.run(this, 'sync', path, () => {
          const changes = [...inode.pending];
          return () => {
            for (const made of changes) inode.durable = apply(inode.durable, made);
            inode.pending = inode.pending.filter((made) => !changes.includes(made));
          };
        }),
      read: async (position, length) => {
        await device.run(this, 'read', path, () => {});
        return inode.current.slice(position, position + length);
      },
      size: async () => inode.current.length,
      close: async () => {},
    };
  }
}

function apply(content: Uint8Array, change: Change): Uint8Array {
  if ('truncateTo' in change) return content.slice(0, change.truncateTo);
  const end = change.position + change.bytes.length;
  const result = end <= content.length ? content : new Uint8Array(end);
  if (result !== content) result.set(content);
  result.set(change.bytes, change.position);
  return result;
}

function applySectors(content: Uint8Array, change: Change, kept: () => boolean): Uint8Array {
  if ('truncateTo' in change) return kept() ? apply(content, change) : content;
  let result = content;
  const { position, bytes } = change;
  for (let at = 0; at < bytes.length;) {
    const next = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
    if (kept()) result = apply(result, { position: position + at, bytes: bytes.subarray(at, next) });
    at = next;
  }
  return result;
}

function notFound(path: string): DiskError {
  return new DiskError('NOT_FOUND', path, `${path} does not exist`);
}

function never(): Promise<never> {
  return new Promise(() => {});
}
