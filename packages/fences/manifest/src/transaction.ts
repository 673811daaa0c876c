/** What a body is given: the files of a scope as they were when it began, and what it changes. Nobody sees the changes before all are published. */

import { FenceError } from '@holdfast/fence';
import { invalid } from '@holdfast/fence/adapter';
import type { Manifest, ManifestFile } from './manifest.ts';
import { checkName } from './options.ts';
import { bytesFrom } from './reads.ts';
import type { ManifestStore } from './store.ts';

/** The longest file that is written or read as one piece. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** The largest file that a manifest of S3 has in itself. */
const MAX_INLINE_BYTES = 4_096;
/** All such files of one manifest together: it is read and written whole. */
const MAX_INLINE_TOTAL_BYTES = 65_536;

export interface TransactionOf<Store extends ManifestStore> {
  readonly store: Store;
  readonly scope: string;
  readonly token: number;
  readonly manifest: Manifest;
  readonly signal: AbortSignal;
}

export class Transaction<Store extends ManifestStore = ManifestStore> {
  protected readonly of: TransactionOf<Store>;
  #files: Map<string, ManifestFile>;
  #changed = false;
  #over = false;

  constructor(of: TransactionOf<Store>) {
    this.of = of;
    this.#files = new Map(of.manifest.files);
  }

  /** The names of the files, with those that this body wrote. */
  names(): readonly string[] {
    this.checkOpen();
    return [...this.#files.keys()];
  }

  /** The bytes of a file, or undefined where there is none. What this body wrote is read as it wrote it. */
  async read(name: string): Promise<Uint8Array | undefined> {
    const file = this.file(name);
    if (file === undefined) return undefined;
    const data = await bytesFrom(this.of.store, this.of.scope, file, this.of.signal);
    if (data === undefined) throw new Outdated(name);
    return data;
  }

  /** Writes a whole file. A text is written as UTF-8. */
  async write(name: string, data: Uint8Array | string): Promise<void> {
    this.checkOpen();
    checkName(name);
    const bytes = bytesOf(data);
    if (bytes.length > MAX_FILE_BYTES) {
      throw invalid(`the file ${JSON.stringify(name)} has ${bytes.length} bytes, at most ${MAX_FILE_BYTES}: cut it up`);
    }
    const { store, scope, token, signal } = this.of;
    const small = store.inlines === true && bytes.length <= Math.min(MAX_INLINE_BYTES, this.#room(name));
    const inline = { key: '', data: small ? Buffer.from(bytes).toString('base64') : '', bytes: bytes.length, token };
    this.set(name, small ? inline : await store.put(scope, token, bytes, signal));
  }

  /** @returns whether there was such a file */
  remove(name: string): boolean {
    this.checkOpen();
    checkName(name);
    const removed = this.#files.delete(name);
    this.#changed ||= removed;
    return removed;
  }

  /** What is to be published; undefined where nothing was changed. @internal */
  async end(): Promise<ReadonlyMap<string, ManifestFile> | undefined> {
    this.#over = true;
    return this.#changed ? this.#files : undefined;
  }

  /** A body that goes on behind its end must not believe that it writes. @internal */
  close(): void {
    this.#over = true;
  }

  /** Bytes that the manifest can take in, besides those of other files. */
  #room(name: string): number {
    let room = MAX_INLINE_TOTAL_BYTES;
    for (const [other, { data, bytes }] of this.#files) if (data !== undefined && other !== name) room -= bytes;
    return room;
  }

  protected file(name: string): ManifestFile | undefined {
    this.checkOpen();
    checkName(name);
    return this.#files.get(name);
  }

  protected set(name: string, file: ManifestFile): void {
    this.#files.set(name, file);
    this.#changed = true;
  }

  protected checkOpen(): void {
    if (this.#over) throw invalid('the transaction is over: use it within its body, and await what it does there');
  }
}

/** A file of the manifest is gone, so that the manifest is not the current one any more. */
export class Outdated extends FenceError {
  constructor(name: string) {
    const text = `the file ${JSON.stringify(name)} is gone, though the manifest names it: a newer one was published, or somebody deleted its data`;
    super('RESOURCE', text);
  }
}

function bytesOf(data: unknown): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  if (data instanceof Uint8Array) return data;
  throw invalid('a file is written as a Uint8Array, or as a text');
}
