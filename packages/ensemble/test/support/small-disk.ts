/** A disk of a few hundred megabytes, for tests that fill it: a file system in memory of its own. */

import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PIECE = new Uint8Array(1024 * 1024);
const BALLAST = 'ballast';

export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Or why there can be none. */
  static mount(megabytes: number, mode: 'rw' | 'ro' = 'rw'): SmallDisk | string {
    if (process.platform !== 'linux') return 'needs Linux';
    if (process.getuid?.() !== 0) return 'needs root, to mount a file system';
    const path = mkdtempSync(join(tmpdir(), 'holdfast-disk-'));
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `${mode},size=${megabytes}m`, 'tmpfs', path]);
    if (status === 0) return new SmallDisk(path);
    rmSync(path, { recursive: true });
    return `may not mount a file system here: ${String(stderr).trim()}`;
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Somebody else's file takes the room until no more than this is left. */
  fillUpTo(freeBytes: number): void {
    const file = openSync(join(this.path, BALLAST), 'a');
    try {
      while (this.freeBytes >= freeBytes + PIECE.length) writeSync(file, PIECE);
    } finally {
      closeSync(file);
    }
  }

  /** That file is deleted. */
  clear(): void {
    rmSync(join(this.path, BALLAST), { force: true });
  }

  unmount(): void {
    const { status, stderr } = spawnSync('umount', [this.path]);
    if (status !== 0) throw new Error(`cannot unmount ${this.path}: ${String(stderr)}`);
    rmSync(this.path, { recursive: true });
  }
}
