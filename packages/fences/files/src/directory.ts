/**
 * A scope in a directory. Its manifests are files that are numbered without a gap, `versions/0000000000000007.json`, of which the highest is the
 * current one. The next is made under a name of its own, synced, and linked to its number: link(2) fails where the number is taken. That is
 * the atomic step among processes, and no lock that somebody who is killed could leave behind. Data have names of their own in `data`.
 */

import { createHash, randomBytes } from 'node:crypto';
import { constants, existsSync, statSync } from 'node:fs';
import { chmod, copyFile, link, mkdir, open, readdir, readFile, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FenceError } from '@holdfast/fence';
import { codeOf, Recent, told } from '@holdfast/fence/adapter';
import { decodeManifest, encodeManifest, MAX_RECENT } from '@holdfast/fence-manifest';
import type { Leftover, Loaded, Manifest, ManifestFile, ManifestStore } from '@holdfast/fence-manifest';
import { asFenceError } from './errors.ts';

const DIGITS = 16;
const VERSION_NAME = /^([0-9]{16})\.json$/;
/** Data are not to be changed where they are, by whomever. */
const READ_ONLY = 0o444;
/** A scope's name that may be seen in the directory; a digest tells scopes apart. */
const MAX_SLUG = 40;
/** How often a manifest is looked for that is collected while it is read. */
const MAX_LOOKS = 20;

/** Manifests as they were read last, by root and scope. */
const remembered = new Recent<Remembered>(1_000);

const nameOf = (number: number): string => String(number).padStart(DIGITS, '0');

/** Where it is and what it is known by, and where the next one would be. */
type Remembered = Loaded & { readonly path: string; readonly mark: string; readonly next: string };

export class DirectoryStore implements ManifestStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Where the files of the scope are. */
  folder(scope: string): string {
    const digest = createHash('sha256').update(scope).digest('hex').slice(0, 32);
    const slug = scope.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_SLUG);
    return join(this.#root, `${slug}-${digest}`);
  }

  async load(scope: string): Promise<Loaded | undefined> {
    const before = remembered.get(this.#place(scope));
    if (before !== undefined && isHighest(before)) return before;
    for (let looks = 1; ; looks += 1) {
      const number = await this.#highest(scope);
      if (number === 0) return undefined;
      const path = this.#version(scope, number);
      const mark = markOf(path);
      const text = await ifThere(path, readFile(path, 'utf8'));
      if (text !== undefined) return this.#remembered(scope, number, mark, decodeManifest(text, path));
      if (looks >= MAX_LOOKS) throw new FenceError('RESOURCE', `${path} vanishes: does somebody delete files there?`);
    }
  }

  async publish(scope: string, manifest: Manifest, over: Loaded | undefined): Promise<boolean> {
    const text = encodeManifest(manifest);
    const number = Number(over?.version ?? 0) + 1;
    const folder = this.folder(scope);
    // Of whoever is killed it is collected as a working copy is, once the floor is higher.
    const fresh = join(folder, 'work', dataName(manifest.floor));
    return await attempted('publish', folder, async () => {
      await this.#inFolders(scope, () => writeDurably(fresh, Buffer.from(text)));
      try {
        await link(fresh, this.#version(scope, number));
      } catch (error) {
        // The number is taken; or the floor has risen meanwhile, and the manifest was collected; or a power loss took a folder.
        if (codeOf(error) === 'ENOENT') await this.#makeFolders(scope);
        else if (codeOf(error) !== 'EEXIST') throw error;
        return false;
      } finally {
        await rm(fresh, { force: true });
      }
      await syncDirectory(join(folder, 'versions'));
      const highest = await this.#highest(scope);
      await this.#collectVersions(scope, highest);
      // With a higher one there, the number was perhaps used and collected before: the ids in the highest one tell.
      if (highest !== number) return false;
      this.#remembered(scope, number, markOf(this.#version(scope, number)), manifest);
      return true;
    });
  }

  async put(scope: string, token: number, data: Uint8Array): Promise<ManifestFile> {
    return await this.#keep(scope, token, (path) => writeDurably(path, data, READ_ONLY));
  }

  /** A copy becomes data of the scope: whoever still has the original open writes to that, and to nothing that anybody reads. */
  async putCopy(scope: string, token: number, source: string): Promise<ManifestFile> {
    return await this.#keep(scope, token, async (path) => await copyDurably(source, path));
  }

  async get(scope: string, file: ManifestFile): Promise<Uint8Array | undefined> {
    const path = this.pathOf(scope, file);
    return await ifThere(path, readFile(path));
  }

  pathOf(scope: string, file: ManifestFile): string {
    return join(this.folder(scope), 'data', file.key);
  }

  /** An empty place for a working copy. */
  async workPath(scope: string, token: number): Promise<string> {
    const folder = join(this.folder(scope), 'work');
    await attempted('write', folder, () => this.#makeFolders(scope));
    return join(folder, dataName(token));
  }

  /** Names in `data` and `work` with the tokens that wrote them. */
  async *leftovers(scope: string): AsyncGenerator<Leftover & { readonly path: string }> {
    for (const part of ['data', 'work']) {
      const folder = join(this.folder(scope), part);
      for (const key of await namesIn(folder)) {
        const token = Number(key.slice(0, DIGITS));
        if (Number.isSafeInteger(token)) yield { path: join(folder, key), key, token };
      }
    }
  }

  #remembered(scope: string, number: number, mark: string, manifest: Manifest): Loaded {
    const [path, next] = [this.#version(scope, number), this.#version(scope, number + 1)];
    const found = { manifest, version: String(number), path, mark, next };
    remembered.set(this.#place(scope), found);
    return found;
  }

  #place(scope: string): string {
    return `${this.#root}\0${scope}`;
  }

  /** Almost always they are there. */
  async #inFolders<Result>(scope: string, write: () => Promise<Result>): Promise<Result> {
    return await write().catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      await this.#makeFolders(scope);
      return await write();
    });
  }

  /** @throws FenceError SCHEMA_MISSING without the directory */
  async #makeFolders(scope: string): Promise<void> {
    const folder = this.folder(scope);
    const made: string[] = [];
    // Not the directory itself: a disk that is not mounted must not become a folder of the disk below.
    for (const path of [folder, join(folder, 'versions'), join(folder, 'data'), join(folder, 'work')]) {
      try {
        await mkdir(path);
        made.push(path);
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
    }
    for (const path of made) await syncDirectory(dirname(path));
  }

  async #keep(scope: string, token: number, write: (path: string) => Promise<number>): Promise<ManifestFile> {
    const key = dataName(token);
    const path = this.pathOf(scope, { key, bytes: 0, token });
    return { key, token, bytes: await attempted('write', path, () => this.#inFolders(scope, () => write(path))) };
  }

  #version(scope: string, number: number): string {
    return join(this.folder(scope), 'versions', `${nameOf(number)}.json`);
  }

  async #numbers(scope: string): Promise<readonly number[]> {
    const names = await namesIn(join(this.folder(scope), 'versions'));
    return names.flatMap((name) => {
      const digits = VERSION_NAME.exec(name)?.[1];
      return digits === undefined ? [] : [Number(digits)];
    });
  }

  async #highest(scope: string): Promise<number> {
    return Math.max(0, ...(await this.#numbers(scope)));
  }

  /** Those that are too old to be somebody's next number. The lowest goes first, so that there is no gap. */
  async #collectVersions(scope: string, highest: number): Promise<void> {
    const last = highest - 2 * MAX_RECENT;
    // Not with each: a directory is read once for many.
    if (last < 1 || last % MAX_RECENT !== 0) return;
    for (const number of [...(await this.#numbers(scope))].sort((left, right) => left - right)) {
      if (number < last) await rm(this.#version(scope, number), { force: true });
    }
  }
}

function dataName(token: number): string {
  return `${nameOf(token)}-${randomBytes(12).toString('hex')}`;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const reading = readdir(folder).catch(async (error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    // Of a scope that nobody has written; or there is no directory at all.
    await readdir(dirname(dirname(folder)));
    return [];
  });
  return await attempted('read', folder, () => reading);
}

async function ifThere<Result>(path: string, reading: Promise<Result>): Promise<Result | undefined> {
  return await reading.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw asFenceError(error, 'read', path);
  });
}

async function attempted<Result>(
  doing: 'read' | 'write' | 'publish',
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return await told(work(), (error) => asFenceError(error, doing, path));
}

/** @param mode given where the name is to last as well. @returns bytes */
async function writeDurably(path: string, data: Uint8Array, mode?: number): Promise<number> {
  const file = await open(path, 'wx', mode);
  const writing = (): Promise<number> => file.writeFile(data).then(() => data.length);
  return await synced(file, mode === undefined ? undefined : path, writing);
}

async function copyDurably(source: string, path: string): Promise<number> {
  await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await chmod(path, READ_ONLY);
  // What may not be written may be synced; the mode of the original is copied along.
  const file = await open(path, 'r');
  return await synced(file, path, async () => (await file.stat()).size);
}

/** The disk is waited for once, for what the file has and for its name. */
async function synced<Result>(
  file: FileHandle,
  named: string | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await work();
    await Promise.all([file.sync(), named === undefined ? undefined : syncDirectory(dirname(named))]);
    return result;
  } finally {
    await file.close();
  }
}

/**
 * Whoever takes the next number does so while this one is there: the lowest are collected first. Both questions are asked in this turn: a local
 * file system answers them in microseconds, and the pool of threads may be behind a sync of the disk.
 */
function isHighest({ path, mark, next }: Remembered): boolean {
  return !existsSync(next) && markOf(path) === mark;
}

/** By what a file differs from another that has its name later; '' where there is none. */
function markOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`;
  } catch (error) {
    throw asFenceError(error, 'read', path);
  }
}

/** A new name is durable when its directory is. */
async function syncDirectory(path: string): Promise<void> {
  await synced(await open(path, 'r'), undefined, async () => undefined);
}
