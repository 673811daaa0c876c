/** Makes the volumes of a run: of the best kind that is possible here. */

import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { allOf } from '../../hang.ts';
import { Ext4Volume } from './ext4-volume.ts';
import { failingCallsProblem } from './failing-calls.ts';
import { clearAway, clearLeftovers, makeOwnDirectory } from './leftovers.ts';
import { PlainVolume } from './plain-volume.ts';
import { isInstalled, reasonOf } from './tools.ts';
import { VOLUME_FAULTS, VolumeError, type OnStruck, type Volume, type VolumeFault } from './volume.ts';

export interface VolumesOptions {
  /** Where the images and mounts of this run are kept, in a directory of its own. @default the system's directory for temporary files */
  readonly directory?: string;
  /** The size of each disk; what is not used takes no room. @default 1 GiB: a log with its next segment, and lockd's reserve beside them */
  readonly bytes?: number;
  /** @default Math.random: from 0 to below 1 */
  readonly random?: () => number;
}

const DEFAULT_BYTES = 2 ** 30;
const PROBE_BYTES = 16 * 2 ** 20;
/** For each, whose own steps have limits. */
const CLOSE_LIMIT_MS = 180_000;
const TOOLS = ['mkfs.ext4', 'mount', 'umount', 'losetup', 'perl', 'fallocate', 'fsfreeze'];

export class Volumes {
  /** What no volume here can do, and why. */
  readonly lacks: ReadonlyMap<VolumeFault, string>;
  readonly #directory: string;
  readonly #options: VolumesOptions;
  readonly #volumes: Volume[] = [];

  private constructor(directory: string, lacks: ReadonlyMap<VolumeFault, string>, options: VolumesOptions) {
    this.#directory = directory;
    this.lacks = lacks;
    this.#options = options;
  }

  /** Finds out what is possible here by doing it once, and clears away what dead harnesses have left. */
  static async open(options: VolumesOptions = {}): Promise<Volumes> {
    const parent = options.directory ?? tmpdir();
    if (process.platform === 'linux') await clearLeftovers(parent);
    const directory = makeOwnDirectory(parent);
    return new Volumes(directory, await lacking(directory), options);
  }

  /** @param struck told what the kernel was seen to do to this volume */
  async create(name: string, struck: OnStruck = () => undefined): Promise<Volume> {
    const { lacks } = this;
    const { bytes = DEFAULT_BYTES, random = Math.random } = this.#options;
    const directory = this.#directory;
    const volume = lacks.has('powerLoss')
      ? new PlainVolume({ name, path: join(directory, name), lacks, struck })
      : await Ext4Volume.create({ name, directory, bytes, lacks, struck, random });
    this.#volumes.push(volume);
    return volume;
  }

  /** Deletes all of them. No process may have a file open there any more. Of what hangs nothing stays either. @throws VolumeError */
  async close(): Promise<void> {
    const steps = this.#volumes
      .splice(0)
      .map((volume) => ({ what: `closing the disk ${volume.name}`, act: () => volume.close() }));
    const problem = await allOf(steps, CLOSE_LIMIT_MS);
    if (problem === undefined) {
      rmSync(this.#directory, { recursive: true, force: true });
      return;
    }
    await clearAway(this.#directory);
    throw new VolumeError(problem);
  }
}

async function lacking(directory: string): Promise<Map<VolumeFault, string>> {
  const lacks = new Map<VolumeFault, string>();
  const failNext = failingCallsProblem();
  if (failNext !== undefined) lacks.set('failNext', failNext);
  const ofDisk = await diskProblem(directory);
  if (ofDisk === undefined) return lacks;
  for (const fault of VOLUME_FAULTS) if (fault !== 'failNext') lacks.set(fault, ofDisk);
  return lacks;
}

/** Why servers can have no disks of their own here; undefined where they can. Tries it. */
async function diskProblem(directory: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return `needs Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'needs root, to mount file systems';
  const missing = TOOLS.filter((tool) => !isInstalled(tool));
  if (missing.length > 0) return `needs ${missing.join(', ')}, not found on the PATH`;
  const seen: string[] = [];
  try {
    const probe = await Ext4Volume.create({
      name: 'probe',
      directory,
      bytes: PROBE_BYTES,
      lacks: new Map(),
      struck: (effect) => seen.push(effect),
      random: Math.random,
    });
    try {
      await probe.powerLoss('none', process.pid);
      await probe.remount();
    } finally {
      await probe.close();
    }
  } catch (error) {
    return `needs ext4 on loop devices that can be shut down: ${reasonOf(error)}`;
  }
  return seen.includes('unsynced-change-lost') ? undefined : 'its file systems lose nothing when they are shut down';
}
