/**
 * Walks the B+trees of an LMDB file by reading it, not by mapping it, and tells whether every page that a tree reaches lies
 * in the file. LMDB itself aborts the process at a page that it does not expect.
 */

import type { DiskFile } from '@holdfast/runtime';

const HEADER_BYTES = 24;
const FLAGS_OFFSET = 18;
const LOWER_OFFSET = 20;
const BRANCH = 0x01;
const LEAF = 0x02;
const NODE_HEADER_BYTES = 8;
/** A leaf node whose value lies on overflow pages: their first number, a transaction, their count. */
const BIG_DATA = 0x01;
/** The root of a tree without entries. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

interface PageRun {
  readonly first: bigint;
  readonly count: bigint;
}

interface Links {
  readonly children: readonly bigint[];
  readonly overflow: readonly PageRun[];
}

export async function treesAreWhole(file: DiskFile, roots: readonly bigint[], pageBytes: number): Promise<boolean> {
  const pages = BigInt(Math.floor((await file.size()) / pageBytes));
  const pending = roots.filter((root) => root !== NO_PAGE);
  let visited = 0n;
  for (let number = pending.pop(); number !== undefined; number = pending.pop()) {
    visited += 1n;
    // More visits than pages: a page is reached twice.
    if (number >= pages || visited > pages) return false;
    const links = readLinks(await file.read(Number(number) * pageBytes, pageBytes), number);
    if (links === undefined || links.overflow.some(({ first, count }) => first + count > pages)) return false;
    pending.push(...links.children);
  }
  return true;
}

/** Undefined where the bytes are not that branch or leaf page. */
function readLinks(page: Uint8Array, number: bigint): Links | undefined {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const flags = view.getUint16(FLAGS_OFFSET, true);
  const isBranch = (flags & BRANCH) !== 0;
  if (view.getBigUint64(0, true) !== number || isBranch === ((flags & LEAF) !== 0)) return undefined;
  const children: bigint[] = [];
  const overflow: PageRun[] = [];
  try {
    const keys = view.getUint16(LOWER_OFFSET, true) >>> 1;
    for (let index = 0; index < keys; index += 1) {
      const node = HEADER_BYTES + view.getUint16(HEADER_BYTES + 2 * index, true);
      const nodeFlags = view.getUint16(node + 4, true);
      const data = node + NODE_HEADER_BYTES + view.getUint16(node + 6, true);
      if (isBranch) children.push(BigInt(view.getUint32(node, true)) | (BigInt(nodeFlags) << 32n));
      else if ((nodeFlags & BIG_DATA) !== 0) {
        overflow.push({ first: view.getBigUint64(data, true), count: view.getBigUint64(data + 16, true) });
      }
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined; // a node beyond the page's end
    throw error;
  }
  return { children, overflow };
}
