/** The files of a scope in a body, and working copies for what has to be changed in place: by a library or a program that is given a path. */

import { constants } from 'node:fs';
import { chmod, copyFile, open, rm } from 'node:fs/promises';
import { Transaction, type ManifestFile } from '@holdfast/fence-manifest';
import type { DirectoryStore } from './directory.ts';
import { asFenceError } from './errors.ts';

/** Working copies are for the user of this process. */
const WORK_MODE = 0o600;

export class FilesTransaction extends Transaction<DirectoryStore> {
  readonly #working = new Map<string, string>();

  /**
   * The path of a copy of the file, empty where there was none, which may be changed in place until the body ends. It is published by being
   * copied once more: a descriptor that is still open then, in whichever process, writes to a file that nobody reads.
   */
  async workingCopy(name: string): Promise<string> {
    const file = this.file(name);
    const before = this.#working.get(name);
    if (before !== undefined) return before;
    const { store, scope, token } = this.of;
    const path = await store.workPath(scope, token);
    this.#working.set(name, path);
    try {
      if (file === undefined) await (await open(path, 'wx', WORK_MODE)).close();
      else {
        await copyFile(store.pathOf(scope, file), path, constants.COPYFILE_FICLONE);
        // The mode of the original is copied along.
        await chmod(path, WORK_MODE);
      }
    } catch (error) {
      throw asFenceError(error, 'write', path);
    }
    return path;
  }

  /** A working copy is taken as it is when the body ends. */
  override async read(name: string): Promise<Uint8Array | undefined> {
    await this.#take(name);
    return await super.read(name);
  }

  override async write(name: string, data: Uint8Array | string): Promise<void> {
    await super.write(name, data);
    await this.#drop(name);
  }

  override remove(name: string): boolean {
    const removed = super.remove(name);
    const path = this.#working.get(name);
    this.#working.delete(name);
    if (path !== undefined) void rm(path, { force: true }).catch(() => undefined);
    return removed || path !== undefined;
  }

  override async end(): Promise<ReadonlyMap<string, ManifestFile> | undefined> {
    for (const name of this.#working.keys()) await this.#take(name);
    return await super.end();
  }

  /** Nothing is left in `work` but by processes that were killed. @internal */
  async clear(): Promise<void> {
    for (const name of this.#working.keys()) await this.#drop(name);
  }

  async #take(name: string): Promise<void> {
    const path = this.#working.get(name);
    if (path === undefined) return;
    const { store, scope, token } = this.of;
    this.set(name, await store.putCopy(scope, token, path));
  }

  async #drop(name: string): Promise<void> {
    const path = this.#working.get(name);
    this.#working.delete(name);
    if (path !== undefined) await rm(path, { force: true });
  }
}
