/**
 * An ext4 file system in a sparse file, mounted through a loop device. Needs Linux and root. It has one device for all its life: one that
 * goes when it is unmounted (`mount -o loop`) may be somebody else's by the time it is found again.
 */

import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { reasonOf, run } from '../tools.ts';
import { VolumeError } from '../volume.ts';

/** A process that was killed may take a moment to let go of its files. */
const BUSY_LIMIT_MS = 10_000;
const AGAIN_MS = 20;

export class LoopImage {
  /** Where it is mounted. */
  readonly path: string;
  readonly #image: string;
  #device: string | undefined;
  #mounted = false;
  /** One at a time: who removes the disk may find it in the middle of a power loss. */
  #turn: Promise<unknown> = Promise.resolve();

  /** @param path of the mount; the image lies beside it */
  constructor(path: string) {
    this.path = path;
    this.#image = `${path}.ext4`;
  }

  get mounted(): boolean {
    return this.#mounted;
  }

  /** @param bytes the size of the disk; what is not used takes no room */
  async make(bytes: number): Promise<void> {
    mkdirSync(this.path);
    writeFileSync(this.#image, '');
    truncateSync(this.#image, bytes);
    // No blocks are reserved for root, or root could still write to a disk that is full.
    await run('mkfs.ext4', ['-q', '-F', '-m', '0', this.#image]);
    this.#device = (await run('losetup', ['--find', '--show', this.#image])).trim();
    await this.mount();
  }

  mount(): Promise<void> {
    return this.#inTurn(async () => {
      const device = this.#device;
      // It was removed meanwhile.
      if (device === undefined) return;
      await untilDone('mount', () => run('mount', ['-t', 'ext4', device, this.path]));
      this.#mounted = true;
    });
  }

  /** No error when it is not mounted. */
  unmount(): Promise<void> {
    return this.#inTurn(() => this.#unmount());
  }

  /** Where somebody still has a file open there, it goes with that file. */
  remove(): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#unmount();
      } catch {
        await run('umount', ['-l', this.path]);
        this.#mounted = false;
      }
      if (this.#device !== undefined) await run('losetup', ['--detach', this.#device]);
      this.#device = undefined;
      rmSync(this.#image, { force: true });
      rmSync(this.path, { recursive: true, force: true });
    });
  }

  async #unmount(): Promise<void> {
    if (!this.#mounted) return;
    await untilDone(
      'unmount',
      () => run('umount', [this.path]),
      () => usersOf(this.path),
    );
    this.#mounted = false;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

/** @param whose says who is in the way */
async function untilDone(what: string, work: () => Promise<unknown>, whose = () => ''): Promise<void> {
  const end = performance.now() + BUSY_LIMIT_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (performance.now() > end) {
        throw new VolumeError(`cannot ${what} a disk: ${reasonOf(error)}${whose()}`, { cause: error });
      }
      await delay(AGAIN_MS);
    }
  }
}

/** Which processes have a file under the path open, or work in it: each number with its command, and what it has open. */
function usersOf(path: string): string {
  const users = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const links = readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`);
        const open = [`/proc/${pid}/cwd`, ...links]
          .map((link) => readlinkSync(link))
          .filter((to) => to.startsWith(path));
        const command = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
        return open.length === 0 ? [] : [`process ${pid} (${command}) has ${open.join(', ')}`];
      } catch {
        return [];
      }
    });
  return users.length === 0 ? '; no process has a file open there' : `; ${users.join('; ')}`;
}
