/**
 * The data of a local ensemble: one folder a server, the store's, the logs, and a record of the ensemble's shape. The servers
 * know each other by port, so data is of use only to an ensemble of the same shape; a launcher holds the directory for its life.
 */

import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { DiskError, type DirectoryLock, type Disk } from '@holdfast/runtime';

import { EnsembleError } from './ensemble-error.ts';

export interface EnsembleShape {
  readonly servers: number;
  readonly basePort: number;
  readonly clusterId: string;
}

const SHAPE_FILE = 'ensemble.json';
const LOCK_FOLDER = 'launcher';
/** As the servers' own directories in it. */
const PRIVATE = { recursive: true, mode: 0o700 } as const;
const MAX_LOG_BYTES = 8 * 1024 * 1024;

export class EnsembleDirectory {
  readonly path: string;
  readonly #lock: DirectoryLock;

  private constructor(path: string, lock: DirectoryLock) {
    this.path = path;
    this.#lock = lock;
  }

  /** @throws EnsembleError IN_USE while another launcher has it. */
  static async open(path: string, disk: Disk): Promise<EnsembleDirectory> {
    mkdirSync(join(path, 'logs'), PRIVATE);
    mkdirSync(join(path, LOCK_FOLDER), PRIVATE);
    try {
      return new EnsembleDirectory(path, await disk.lockDirectory(join(path, LOCK_FOLDER)));
    } catch (error) {
      if (!(error instanceof DiskError) || error.code !== 'LOCKED') throw error;
      const advice = 'stop that one first, or start this one with another --data and --base-port';
      throw new EnsembleError('IN_USE', `another ensemble runs on ${path}; ${advice}`, { cause: error });
    }
  }

  server(id: number): string {
    return join(this.path, `server-${id}`);
  }

  get fencedKv(): string {
    return join(this.path, 'fenced-kv');
  }

  /** The log file of a process; one that has grown large is set aside as `….old`. */
  logFile(name: string): string {
    const file = join(this.path, 'logs', `${name}.log`);
    if (existsSync(file) && statSync(file).size > MAX_LOG_BYTES) renameSync(file, `${file}.old`);
    return file;
  }

  /** Deletes the data of every server and of the store, and says what it deleted. Only what an ensemble made is touched. */
  clear(): string[] {
    const made = readdirSync(this.path).filter(
      (name) => /^server-\d+$/.test(name) || ['fenced-kv', 'logs', SHAPE_FILE].includes(name),
    );
    const paths = made.map((name) => join(this.path, name));
    for (const path of paths) rmSync(path, { recursive: true, force: true });
    mkdirSync(join(this.path, 'logs'), PRIVATE);
    return paths;
  }

  /** Records the shape, or compares it with the recorded one. @throws EnsembleError OTHER_SHAPE */
  claim(shape: EnsembleShape): void {
    if (!this.hasDataOf(shape)) writeFileSync(join(this.path, SHAPE_FILE), `${JSON.stringify(shape, null, 2)}\n`);
  }

  /** False where it has none yet. @throws EnsembleError OTHER_SHAPE where its data is of an ensemble of another shape */
  hasDataOf(shape: EnsembleShape): boolean {
    const recorded = this.#recordedShape();
    if (recorded === undefined) return false;
    if (recorded.servers === shape.servers && recorded.basePort === shape.basePort) return true;
    const was = `${recorded.servers} servers on base port ${recorded.basePort}`;
    const wanted = `${shape.servers} servers on base port ${shape.basePort}`;
    const again = `--servers ${recorded.servers} --base-port ${recorded.basePort}`;
    throw new EnsembleError(
      'OTHER_SHAPE',
      `${this.path} holds the data of ${was}, not of ${wanted}; start it with ${again}, or with --fresh to delete that data`,
    );
  }

  async release(): Promise<void> {
    await this.#lock.release();
  }

  #recordedShape(): EnsembleShape | undefined {
    const file = join(this.path, SHAPE_FILE);
    if (!existsSync(file)) return undefined;
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as EnsembleShape;
    } catch (error) {
      throw new EnsembleError('OTHER_SHAPE', `${file} cannot be read; delete it if the data is of the same ensemble`, {
        cause: error,
      });
    }
  }
}
