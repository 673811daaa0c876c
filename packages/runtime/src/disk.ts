/**
 * The disk. Every operation resolves after the operating system has done it; only operations whose documentation says
 * "durable" survive a power failure from then on. Any {@link DiskError} of a write or a sync leaves the file's content unknown:
 * callers latch it and stop, they never retry.
 */

export type DiskErrorCode =
  | 'NO_SPACE'
  | 'NOT_FOUND'
  | 'EXISTS'
  | 'READ_ONLY'
  | 'PERMISSION'
  /** The process or the machine has no file descriptor left: nothing was done, and nothing is known of the path. */
  | 'NO_DESCRIPTORS'
  | 'IO'
  | 'LOCKED';

export class DiskError extends Error {
  readonly code: DiskErrorCode;
  readonly path: string;

  constructor(code: DiskErrorCode, path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DiskError';
    this.code = code;
    this.path = path;
  }
}

export interface DiskFile {
  readonly path: string;
  /**
   * Writes the buffers one after another at `position`. **Durable** on resolve, content and length, as one operation (one
   * thread-pool hop). At a crash before that, any subset of the sectors may have been written.
   */
  append(position: number, buffers: readonly Uint8Array[]): Promise<void>;
  /** Writes without durability. */
  write(position: number, bytes: Uint8Array): Promise<void>;
  /** Makes all earlier writes and truncations of this file **durable**. */
  sync(): Promise<void>;
  /** Fewer bytes than asked for only at the end of the file. They may lie in `room`, when it is given and large enough, or anywhere else. */
  read(position: number, length: number, room?: Uint8Array): Promise<Uint8Array>;
  /** Without durability, until `sync`. */
  truncate(length: number): Promise<void>;
  size(): Promise<number>;
  /** After the operations under way; every later one is rejected. Makes nothing durable. */
  close(): Promise<void>;
}

export interface DirectoryLock {
  release(): Promise<void>;
}

/** Paths that other users had rights to. */
export interface RestrictedAccess {
  /** And have no more. */
  readonly restricted: readonly string[];
  /** And still have: they belong to somebody else, or their file system knows no rights. */
  readonly open: readonly string[];
}

/** What it makes, no other user of the machine may look into, whatever the umask. */
export interface Disk {
  /** Creates the directory and its parents, **durable** with their entries in their parents. No error when it exists. */
  makeDirectory(path: string): Promise<void>;
  /** Names of the entries, sorted by code unit, without those of {@link Disk.lockDirectory}. Rejects with NOT_FOUND. */
  list(path: string): Promise<string[]>;
  /** Opens for reading and writing. `create`: makes an empty file, or rejects with EXISTS; its name is durable only after `syncDirectory`. */
  open(path: string, mode: 'existing' | 'create'): Promise<DiskFile>;
  readFile(path: string): Promise<Uint8Array>;
  /**
   * Atomic. Replaces an existing target. Durable only after `syncDirectory`; across directories each half with that of
   * its own directory, so sync the target's first.
   */
  rename(from: string, to: string): Promise<void>;
  /** Durable only after `syncDirectory`. */
  remove(path: string): Promise<void>;
  /** With everything below it; no error when it does not exist. Durable only after `syncDirectory` of its parent. */
  removeTree(path: string): Promise<void>;
  /** Makes names created, renamed and removed in the directory **durable**. */
  syncDirectory(path: string): Promise<void>;
  freeBytes(path: string): Promise<number>;
  /**
   * Takes the rights of other users from the directory and its entries, but not from what is in those. Rejects with PERMISSION when
   * others have rights to the directory itself and it belongs to another user.
   */
  restrictAccess(path: string): Promise<RestrictedAccess>;
  /**
   * Takes the directory for this process, for life: a second taker, in any process, is refused with LOCKED while the first
   * lives. What a killed process leaves behind does not block. Within one machine: not across a network file system.
   */
  lockDirectory(path: string): Promise<DirectoryLock>;
}
