/** Files of the harness's own beside a server's data. What a power failure did to them shows what it did to everything. */

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { StruckFault } from '@holdfast/runtime/sim';
import { VolumeError } from './volume.ts';

/** What the guard appends to `log`. */
export const UNSYNCED = ' and unsynced';

/** The guard appends to `log` and renames `old-name` to `new-name` just before it shuts the file system down. */
export class Canaries {
  readonly directory: string;
  readonly #synced: string;

  constructor(directory: string) {
    this.directory = directory;
    // Tells this disk from any other.
    this.#synced = `synced in ${directory}`;
  }

  /** Durable when it returns. */
  lay(): void {
    rmSync(this.directory, { recursive: true, force: true });
    mkdirSync(this.directory);
    for (const name of ['log', 'old-name']) {
      writeFileSync(join(this.directory, name), this.#synced);
      sync(join(this.directory, name));
    }
    sync(this.directory);
    sync(join(this.directory, '..'));
  }

  /** What of them the power failure took: nothing where a sync of the server came in between. @throws VolumeError when it took something that was durable */
  lost(): StruckFault[] {
    const log = this.#read('log');
    if (log?.startsWith(this.#synced) !== true) throw new VolumeError(`${this.directory} has lost what was synced`);
    const lost: StruckFault[] = [];
    // A sync of the server in between may have made the new length durable without the content; the rest is zeros then.
    if (log !== this.#synced + UNSYNCED) lost.push('unsynced-change-lost');
    if (existsSync(join(this.directory, 'old-name'))) lost.push('unsynced-name-lost');
    return lost;
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.directory, name), 'utf8');
    } catch {
      return undefined;
    }
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
