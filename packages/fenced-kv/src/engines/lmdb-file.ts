/**
 * A look at an LMDB file before LMDB maps it: a foreign or cut file would not be an error there but the end of the process
 * (SIGSEGV, SIGBUS, abort). Reads the two meta pages of data version 2 as LMDB lays them out on little-endian machines.
 */

import type { Disk, DiskFile } from '@holdfast/runtime';

import { EngineError } from './engine-error.ts';
import { treesAreWhole } from './lmdb-pages.ts';

const READER_TABLE_SUFFIX = '-lock';
const MAGIC = 0xbeef_c0de;
const DATA_VERSION = 2;
const MIN_PAGE_BYTES = 256;
const MAX_PAGE_BYTES = 65_536;
/** Offsets in a meta page: its header has 24 bytes, the record of a tree 48 with the root in the last eight. */
const META_MAGIC = 24;
const META_VERSION = 28;
const META_PAGE_BYTES = 48;
const META_FREE_ROOT = 88;
const META_MAIN_ROOT = 136;
const META_LAST_PAGE = 144;
const META_TRANSACTION = 152;
const META_END = 160;

interface Meta {
  readonly pageBytes: number;
  readonly roots: readonly bigint[];
  readonly lastPage: bigint;
  readonly transaction: bigint;
}

/**
 * Leaves files that LMDB can open, and that only this user can. Rejects with DAMAGED_DATA where the file is not LMDB's or was cut. What
 * lies inside a page is not checked.
 */
export async function prepareLmdbFile(directory: string, name: string, disk: Disk): Promise<void> {
  const names = await disk.list(directory);
  if (names.includes(name)) await check(directory, name, disk);
  // LMDB would make them with rights for others, as far as the umask lets it; what it finds empty it takes for new.
  for (const each of [name, `${name}${READER_TABLE_SUFFIX}`]) {
    if (!(await disk.list(directory)).includes(each)) await (await disk.open(`${directory}/${each}`, 'create')).close();
  }
}

async function check(directory: string, name: string, disk: Disk): Promise<void> {
  const path = `${directory}/${name}`;
  const file = await disk.open(path, 'existing');
  let unfinished = false;
  try {
    const head = await file.read(0, 2 * MAX_PAGE_BYTES);
    unfinished = (await file.size()) === head.length && head.every((byte) => byte === 0);
    if (!unfinished) await assertWhole(file, head);
  } finally {
    await file.close();
  }
  // A power failure during the first open leaves a file of zeros, of which nothing was ever acknowledged.
  if (unfinished) await disk.remove(path);
}

async function assertWhole(file: DiskFile, head: Uint8Array): Promise<void> {
  const first = readMeta(head, 0);
  const second = first === undefined ? undefined : readMeta(head, first.pageBytes);
  if (first === undefined || second === undefined || first.pageBytes !== second.pageBytes) {
    throw new EngineError('DAMAGED_DATA', `${file.path} is not a whole LMDB file; restore it from a copy`);
  }
  const { lastPage, roots, pageBytes } = first.transaction > second.transaction ? first : second;
  if (BigInt(await file.size()) >= (lastPage + 1n) * BigInt(pageBytes)) return;
  // LMDB leaves a file shorter than the pages that it counts where the last ones are free. So does whoever cuts it.
  if (await treesAreWhole(file, roots, pageBytes)) return;
  throw new EngineError(
    'DAMAGED_DATA',
    `${file.path} was cut: pages that it refers to are missing; restore it from a copy`,
  );
}

function readMeta(head: Uint8Array, position: number): Meta | undefined {
  if (position + META_END > head.length) return undefined;
  const view = new DataView(head.buffer, head.byteOffset + position, META_END);
  const pageBytes = view.getUint32(META_PAGE_BYTES, true);
  const isMeta =
    view.getUint32(META_MAGIC, true) === MAGIC &&
    (view.getUint32(META_VERSION, true) & 0xffff) === DATA_VERSION &&
    pageBytes >= MIN_PAGE_BYTES &&
    pageBytes <= MAX_PAGE_BYTES;
  if (!isMeta) return undefined;
  return {
    pageBytes,
    roots: [view.getBigUint64(META_FREE_ROOT, true), view.getBigUint64(META_MAIN_ROOT, true)],
    lastPage: view.getBigUint64(META_LAST_PAGE, true),
    transaction: view.getBigUint64(META_TRANSACTION, true),
  };
}
