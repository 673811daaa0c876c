/**
 * The one object of a scope that says which data are current. It holds the floor as well, so that whoever replaces it has checked the token and
 * written in one step. Its text never repeats: each has a revision and an id of its own, or a condition on its content could hold again later.
 */

import { FenceError } from '@holdfast/fence';

export interface ManifestFile {
  /** Where the bytes are. Nothing is ever written there a second time. '' where the manifest itself has them. */
  readonly key: string;
  /** The bytes in base64, of a small file where that saves a wait for the storage. */
  readonly data?: string;
  readonly bytes: number;
  /** Of the holder that wrote it. */
  readonly token: number;
}

export interface Manifest {
  /** The highest floor that the scope was told. */
  readonly floor: number;
  /** Grows by one with each that is published. */
  readonly revision: number;
  /** Ids of this one and of those before it, the newest last: whether one whose answer was lost was published. */
  readonly recent: readonly string[];
  readonly files: ReadonlyMap<string, ManifestFile>;
}

const FORMAT = 1;
/** Ids that a manifest remembers. */
export const MAX_RECENT = 256;
/** Files of a scope: the manifest is read and written whole. */
const MAX_FILES = 10_000;

export const EMPTY: Manifest = { floor: 0, revision: 0, recent: [], files: new Map() };

/** @throws FenceError INVALID_ARGUMENT where there are too many files */
export function encodeManifest({ floor, revision, recent, files }: Manifest): string {
  if (files.size > MAX_FILES) {
    const text = `the scope would have ${files.size} files, at most ${MAX_FILES}: pack what belongs together into one file, or use several scopes`;
    throw new FenceError('INVALID_ARGUMENT', text);
  }
  return `${JSON.stringify({ format: FORMAT, floor, revision, recent, files: [...files] })}\n`;
}

/**
 * @param where of a message
 * @throws FenceError SCHEMA_VERSION for one of a later format, RESOURCE for what is no manifest
 */
export function decodeManifest(text: string, where: string): Manifest {
  const value = parsed(text);
  const format = value?.['format'];
  if (value !== undefined && Number.isSafeInteger(format) && format !== FORMAT) {
    const what = `${where} is of format ${String(format)}, and this package knows ${FORMAT}`;
    throw new FenceError('SCHEMA_VERSION', `${what}: it was made by another version, so install that one`);
  }
  const { floor, revision, recent, files } = value ?? {};
  const sound =
    format === FORMAT &&
    isCount(floor) &&
    isCount(revision) &&
    Array.isArray(recent) &&
    recent.every((id): id is string => typeof id === 'string') &&
    Array.isArray(files) &&
    files.every(isEntry);
  if (!sound) {
    const advice = 'move it away if it is not of a fence, or restore it from a backup';
    throw new FenceError('RESOURCE', `${where} is no manifest of a fence, or is damaged: ${advice}`);
  }
  return { floor, revision, recent, files: new Map(files) };
}

/** What is published next: with the floor of its writer, and one revision further. */
export function following(
  { floor, revision, recent, files }: Manifest,
  id: string,
  told: number,
  written: ReadonlyMap<string, ManifestFile> = files,
): Manifest {
  return {
    floor: Math.max(floor, told),
    revision: revision + 1,
    recent: [...recent, id].slice(-MAX_RECENT),
    files: written,
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isEntry(value: unknown): value is [string, ManifestFile] {
  if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== 'string') return false;
  const file: unknown = value[1];
  if (typeof file !== 'object' || file === null) return false;
  const { key, data, bytes, token } = file as { readonly [Name in keyof ManifestFile]?: unknown };
  const isData = data === undefined || (typeof data === 'string' && Buffer.byteLength(data, 'base64') === bytes);
  return typeof key === 'string' && isData && isCount(bytes) && isCount(token);
}
