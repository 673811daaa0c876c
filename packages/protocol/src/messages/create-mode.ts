/** How long a node lives, and whether its parent numbers it. The numbers are ZooKeeper's. */

export const CreateMode = {
  persistent: 0,
  ephemeral: 1,
  persistentSequential: 2,
  ephemeralSequential: 3,
  container: 4,
  persistentTtl: 5,
  persistentSequentialTtl: 6,
} as const;
export type CreateModeNumber = (typeof CreateMode)[keyof typeof CreateMode];
/** No version will have a higher one. */
export const MAX_CREATE_MODE = 255;

export interface CreateModeOptions {
  readonly ephemeral?: boolean;
  readonly sequential?: boolean;
  readonly container?: boolean;
  readonly ttl?: boolean;
}

/**
 * The mode of a node that goes with its session or not, and gets a number behind its name or not; or goes after its last child, or when its
 * time is over. Undefined for what excludes each other.
 */
export function createModeOf(options: CreateModeOptions): CreateModeNumber | undefined {
  const { ephemeral = false, sequential = false, container = false, ttl = false } = options;
  if (container) return ephemeral || sequential || ttl ? undefined : CreateMode.container;
  if (ttl) {
    if (ephemeral) return undefined;
    return sequential ? CreateMode.persistentSequentialTtl : CreateMode.persistentTtl;
  }
  return createMode({ ephemeral, sequential });
}

/** The same of what every version has. */
export function createMode(options: Pick<CreateModeOptions, 'ephemeral' | 'sequential'>): CreateModeNumber {
  const { ephemeral = false, sequential = false } = options;
  if (sequential) return ephemeral ? CreateMode.ephemeralSequential : CreateMode.persistentSequential;
  return ephemeral ? CreateMode.ephemeral : CreateMode.persistent;
}

/** The node goes with the session that creates it. */
export function isEphemeral(mode: number): boolean {
  return mode === CreateMode.ephemeral || mode === CreateMode.ephemeralSequential;
}

/** Its parent appends a number to its name. */
export function isSequential(mode: number): boolean {
  return (
    mode === CreateMode.persistentSequential ||
    mode === CreateMode.ephemeralSequential ||
    mode === CreateMode.persistentSequentialTtl
  );
}

/** The node goes when it has had no children and no change for its time to live. */
export function hasTtl(mode: number): boolean {
  return mode === CreateMode.persistentTtl || mode === CreateMode.persistentSequentialTtl;
}
