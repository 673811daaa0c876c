/**
 * Disks whose power a test can cut: an ext4 file system each, in a file that is mounted through a loop device. Shut down, it loses what was
 * not synced, as at a power failure, and refuses every further write; mounted again, it replays its journal. The machine's own
 * disks are not touched. Needs Linux, root and loop devices.
 */

import { execFile } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Room for a log with its next segment, and for the reserve beside them. Sparse: what is not used takes no room. */
const IMAGE_BYTES = 1024 * 1024 * 1024;
const PROBE_BYTES = 16 * 1024 * 1024;
const TOOLS = ['mkfs.ext4', 'losetup', 'mount', 'umount', 'perl'];
const MOUNT_LIMIT_MS = 30_000;
/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: not even the journal is written out. For all of them in one breath. */
const SHUT_DOWN = [
  'my @disks = map { open(my $disk, "<", $_) or die "$_: $!"; $disk } @ARGV;',
  'for my $disk (@disks) { my $flags = pack("L", 2); ioctl($disk, 0x8004587D, $flags) or die "shutdown: $!" }',
].join(' ');

export class LoopDisk {
  /** Where it is mounted. */
  readonly path: string;
  readonly #image: string;
  /** For all its life: one that goes when it is unmounted may be another's by the time it is found again. */
  #device: string | undefined;
  #mounted = false;

  private constructor(image: string, path: string) {
    this.#image = image;
    this.path = path;
  }

  /** A new one below `directory`, mounted. */
  static async create(directory: string, name: string, bytes = IMAGE_BYTES): Promise<LoopDisk> {
    const disk = new LoopDisk(join(directory, `${name}.ext4`), join(directory, name));
    mkdirSync(disk.path);
    writeFileSync(disk.#image, '');
    truncateSync(disk.#image, bytes);
    await run('mkfs.ext4', ['-q', '-F', disk.#image]);
    disk.#device = (await run('losetup', ['--find', '--show', disk.#image])).stdout.trim();
    await disk.mount();
    return disk;
  }

  async mount(): Promise<void> {
    await run('mount', ['-t', 'ext4', this.#device ?? '', this.path], { timeout: MOUNT_LIMIT_MS });
    this.#mounted = true;
  }

  /** No process may have a file open there any more. */
  async unmount(): Promise<void> {
    if (!this.#mounted) return;
    await run('umount', [this.path], { timeout: MOUNT_LIMIT_MS });
    this.#mounted = false;
  }

  /** Unmounted, and its device given back; the image stays. */
  async remove(): Promise<void> {
    await this.unmount();
    if (this.#device !== undefined) await run('losetup', ['--detach', this.#device]);
    this.#device = undefined;
  }
}

/** Of all of them at the same time. */
export async function cutPower(disks: readonly LoopDisk[]): Promise<void> {
  await run('perl', ['-e', SHUT_DOWN, ...disks.map(({ path }) => path)]);
}

/** Why no power can be cut here; undefined where it can. Tries it. */
export async function powerProblem(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `needs Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'needs root, to mount file systems';
  const missing = TOOLS.filter((tool) => !isInstalled(tool));
  if (missing.length > 0) return `needs ${missing.join(', ')}, not found on the PATH`;
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-power-probe-'));
  let disk: LoopDisk | undefined;
  try {
    disk = await LoopDisk.create(directory, 'probe', PROBE_BYTES);
    await cutPower([disk]);
    return undefined;
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n').slice(-2);
    return `needs ext4 on loop devices that can be shut down: ${reason}`;
  } finally {
    await disk?.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}

function isInstalled(tool: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, tool), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
