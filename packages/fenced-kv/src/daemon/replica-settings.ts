/** The settings of a replica: what `--replica-of` needs beside those of every store, and what is wrong with them. */

import { DiskError, type Disk } from '@holdfast/runtime';

import {
  MAX_REMOVAL_MS,
  MAX_SECRET_FILE_BYTES,
  MAX_SESSION_TIMEOUT_MS,
  MIN_REMOVAL_MS,
  MIN_SESSION_TIMEOUT_MS,
} from '../limits.ts';
import { parseAddress } from '../http/server.ts';
import type { ReplicaId } from '../replication/core/index.ts';
import { MAX_REPLICAS } from '../replication/node/ensemble-configuration.ts';
import { isGroupName, NAME_RULE } from '../replication/node/group-nodes.ts';
import { MAX_URL_LENGTH } from '../replication/node/replica-registry.ts';
import { MIN_SECRET_BYTES } from '../replication/wire/handshake.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';

/** As the command line has them. */
export interface ReplicaOptions {
  /** The name of the group. @default none: a store by itself */
  readonly replicaOf?: string;
  /** Of this directory, for all time. */
  readonly replicaId?: string;
  /** `id=host:port` of all replicas, this one too, with commas between them: where they listen for each other. */
  readonly replicas?: string;
  /** @default the address that `--replicas` has for this one */
  readonly peerListen?: string;
  /** Where clients find this replica. @default `--listen` */
  readonly advertise?: string;
  /** A file with what the replicas prove to each other to know. */
  readonly secretFile?: string;
  /** Ids with which a new group begins. @default the group exists */
  readonly initialInSync?: string;
  /** How long the ensemble waits for a silent primary, before another may have its place. @default 4,000 */
  readonly sessionTimeoutMs?: number;
  /** How long a primary waits for a silent replica, before it is removed from the in-sync set. @default 2,000 */
  readonly removalMs?: number;
}

const OF_A_REPLICA: Readonly<Record<Exclude<keyof ReplicaOptions, 'replicaOf'>, string>> = {
  replicaId: '--replica-id',
  replicas: '--replicas',
  peerListen: '--peer-listen',
  advertise: '--advertise',
  secretFile: '--secret-file',
  initialInSync: '--initial-in-sync',
  sessionTimeoutMs: '--session-timeout-ms',
  removalMs: '--removal-ms',
};

const DEFAULT_SESSION_TIMEOUT_MS = 4_000;
const DEFAULT_REMOVAL_MS = 2_000;

export interface ReplicaSettings {
  readonly group: string;
  readonly id: ReplicaId;
  readonly peerListen: string;
  /** Of every other replica. */
  readonly peers: ReadonlyMap<ReplicaId, string>;
  readonly advertise: string | undefined;
  readonly secretFile: string;
  readonly initialInSync: readonly ReplicaId[] | undefined;
  readonly sessionTimeoutMs: number;
  readonly removalMs: number;
  /** Of the ensemble. */
  readonly servers: readonly string[];
}

/** Undefined: it is a store by itself. @throws ExitError */
export function replicaSettings(
  options: ReplicaOptions & { readonly listen: string },
  servers: readonly string[] | undefined,
): ReplicaSettings | undefined {
  const { replicaOf: group } = options;
  if (group === undefined) {
    for (const [name, flag] of Object.entries(OF_A_REPLICA)) {
      if (name in options && options[name as keyof ReplicaOptions] !== undefined) {
        throw usage(
          `${flag} is a setting of a replica; say --replica-of with the name of its group, or leave ${flag} out`,
        );
      }
    }
    return undefined;
  }
  if (!isGroupName(group)) throw usage(`--replica-of ${JSON.stringify(group)} is no name of a group: it ${NAME_RULE}`);
  const id = needed(options.replicaId, '--replica-id', 'the id of this directory, such as r1');
  if (!isGroupName(id)) throw usage(`--replica-id ${JSON.stringify(id)} is no id of a replica: it ${NAME_RULE}`);
  const replicas = parseReplicas(
    needed(options.replicas, '--replicas', 'where all replicas listen for each other, such as r1=10.0.0.1:7500,r2=…'),
  );
  const own = replicas.get(id);
  if (own === undefined) {
    throw usage(
      `--replicas has no ${id}, which is the --replica-id of this one; name all replicas of the group, this one too`,
    );
  }
  const secretFile = needed(options.secretFile, '--secret-file', 'the file with the secret of the group');
  if (servers === undefined)
    throw usage('--replica-of needs the lock ensemble; say where it is with --ensemble host:port,…');
  const { peerListen = own, sessionTimeoutMs = DEFAULT_SESSION_TIMEOUT_MS, removalMs = DEFAULT_REMOVAL_MS } = options;
  if (!isAddress(peerListen)) throw usage(`--peer-listen ${peerListen} is not an address such as 127.0.0.1:7500`);
  assertWithin('--session-timeout-ms', sessionTimeoutMs, MIN_SESSION_TIMEOUT_MS, MAX_SESSION_TIMEOUT_MS);
  assertWithin('--removal-ms', removalMs, MIN_REMOVAL_MS, MAX_REMOVAL_MS);
  replicas.delete(id);
  return {
    group,
    id,
    peerListen,
    peers: replicas,
    advertise: advertised(options),
    secretFile,
    initialInSync: parseInitial(options.initialInSync, [id, ...replicas.keys()]),
    sessionTimeoutMs,
    removalMs,
    servers,
  };
}

/** Rejects with {@link ExitError}. White space at its end does not count: an editor leaves it there. */
export async function readSecret(path: string, disk: Disk): Promise<Uint8Array> {
  let text: string;
  try {
    const file = await disk.open(path, 'existing');
    try {
      const bytes = await file.read(0, MAX_SECRET_FILE_BYTES + 1);
      if (bytes.length > MAX_SECRET_FILE_BYTES) {
        throw usage(`--secret-file ${path} has more than ${MAX_SECRET_FILE_BYTES} bytes; is it the right file?`);
      }
      text = Buffer.from(bytes).toString('latin1').trimEnd();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    throw new ExitError(EXIT_CODE.usage, `--secret-file ${path} cannot be read: ${error.message}`, { cause: error });
  }
  if (text.length >= MIN_SECRET_BYTES) return Buffer.from(text, 'latin1');
  throw usage(
    `--secret-file ${path} has ${text.length} bytes, and the secret of a group at least ${MIN_SECRET_BYTES}; ` +
      'draw one, such as with openssl rand -hex 32, and give all replicas the same',
  );
}

function parseReplicas(text: string): Map<ReplicaId, string> {
  const replicas = new Map<ReplicaId, string>();
  for (const part of text.split(',')) {
    const at = part.indexOf('=');
    const [id, address] = [part.slice(0, Math.max(0, at)), part.slice(at + 1)];
    if (!isGroupName(id) || !isAddress(address)) {
      throw usage(
        `--replicas ${JSON.stringify(part)} is not a replica such as r1=10.0.0.1:7500; put commas between them`,
      );
    }
    if (replicas.has(id)) throw usage(`--replicas has ${id} twice; each replica has an id of its own`);
    const other = [...replicas].find(([, known]) => known === address)?.[0];
    if (other !== undefined)
      throw usage(`--replicas has ${other} and ${id} at ${address}; each listens at an address of its own`);
    replicas.set(id, address);
  }
  if (replicas.size <= MAX_REPLICAS) return replicas;
  throw usage(`--replicas has ${replicas.size} replicas, and a group at most ${MAX_REPLICAS}`);
}

function parseInitial(text: string | undefined, group: readonly ReplicaId[]): readonly ReplicaId[] | undefined {
  if (text === undefined) return undefined;
  const ids = text.split(',');
  const unknown = ids.find((id) => !group.includes(id));
  if (unknown !== undefined)
    throw usage(`--initial-in-sync has ${JSON.stringify(unknown)}, which --replicas does not have`);
  if (new Set(ids).size !== ids.length) throw usage('--initial-in-sync has a replica twice');
  const majority = Math.floor(group.length / 2) + 1;
  // One replica with data may begin alone; the others are added as they catch up.
  if (ids.length >= majority || ids.length === 1) return ids;
  throw usage(
    `--initial-in-sync has ${ids.length} of ${group.length} replicas; a new group begins with a majority, or with the one that has the data`,
  );
}

function advertised({
  advertise,
  listen,
}: {
  readonly advertise?: string;
  readonly listen: string;
}): string | undefined {
  if (advertise === undefined) {
    const host = parseAddress(listen)?.host ?? '';
    if (!['0.0.0.0', '::'].includes(host)) return undefined;
    throw usage(
      `--listen ${listen} is every address of this machine; say with --advertise where clients find this replica`,
    );
  }
  const url = URL.canParse(advertise) ? new URL(advertise) : undefined;
  const isPlain =
    url !== undefined && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === '';
  if (isPlain && advertise.length <= MAX_URL_LENGTH) return advertise.replace(/\/+$/, '');
  throw usage(`--advertise ${JSON.stringify(advertise)} is no address for clients such as http://10.0.0.1:7400`);
}

function assertWithin(flag: string, value: number, least: number, most: number): void {
  if (value < least || value > most) throw usage(`${flag} is from ${least} to ${most}, and not ${value}`);
}

function needed(value: string | undefined, flag: string, what: string): string {
  if (value !== undefined && value !== '') return value;
  throw usage(`--replica-of needs ${flag}: ${what}`);
}

function isAddress(text: string): boolean {
  return (parseAddress(text)?.port ?? 0) > 0;
}

function usage(message: string): ExitError {
  return new ExitError(EXIT_CODE.usage, message);
}
