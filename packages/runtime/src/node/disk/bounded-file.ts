/**
 * A text file that grows line by line up to a limit; then it is renamed to `PATH.1`, in place of the last one there, and begun anew. What
 * an earlier run left is kept as `PATH.1` too. Synchronous, for lines that must be there when a process fails; nothing is synced.
 */

import { closeSync, openSync, renameSync, writeSync } from 'node:fs';

import { PRIVATE_FILE_MODE } from './directory-access.ts';

/** Gathered before a write: a line is not worth a system call. */
const BUFFER_BYTES = 64 * 1024;
const SUFFIX = '.1';

export interface BoundedFileOptions {
  readonly path: string;
  /** Of one file; with the one before it there are at most two. A single line may be longer, and is alone in its file then. */
  readonly maxBytes: number;
  /** The first line of each file. */
  readonly header: () => string;
}

export class BoundedFile {
  readonly #options: BoundedFileOptions;
  #descriptor: number;
  #bytes = 0;
  #lineCount = 0;
  #lines: string[] = [];
  #gatheredBytes = 0;

  /** @throws the error of the system when the file cannot be made */
  constructor(options: BoundedFileOptions) {
    this.#options = options;
    this.#descriptor = this.#begin();
  }

  /** Appends a line, which has no line end yet. @throws the error of the system */
  write(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#bytes + bytes > this.#options.maxBytes && this.#lineCount > 0) this.#rotate();
    this.#gather(line, bytes);
    this.#lineCount += 1;
    if (this.#gatheredBytes >= BUFFER_BYTES) this.flush();
  }

  /** Hands what was gathered to the operating system. @throws the error of the system */
  flush(): void {
    if (this.#lines.length === 0) return;
    const text = Buffer.from(this.#lines.map((line) => `${line}\n`).join(''));
    this.#lines = [];
    this.#gatheredBytes = 0;
    for (let written = 0; written < text.length;) written += writeSync(this.#descriptor, text, written);
  }

  #rotate(): void {
    this.flush();
    closeSync(this.#descriptor);
    this.#descriptor = this.#begin();
  }

  #begin(): number {
    const { path, header } = this.#options;
    keepAside(path);
    const descriptor = openSync(path, 'wx', PRIVATE_FILE_MODE);
    const line = header();
    this.#bytes = 0;
    this.#lineCount = 0;
    this.#gather(line, Buffer.byteLength(line) + 1);
    return descriptor;
  }

  #gather(line: string, bytes: number): void {
    this.#lines.push(line);
    this.#gatheredBytes += bytes;
    this.#bytes += bytes;
  }
}

function keepAside(path: string): void {
  try {
    renameSync(path, path + SUFFIX);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
