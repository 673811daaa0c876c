/**
 * The server's life: open the data, listen, say so, serve until a signal or a failure of the disk, then finish the requests
 * under way and close the data. A failed disk ends the process, because what it holds is known again only after a restart.
 */

import type { Client } from '@holdfast/client';
import { RefusalLog } from '@holdfast/runtime';
import type { Clock, Disk, Logger, Network, Random } from '@holdfast/runtime';
import { connectionRoom } from '@holdfast/runtime/node';

import { createAdminHandler } from '../admin/admin-handler.ts';
import { openAdminSocket } from '../admin/admin-socket.ts';
import type { AdminSocket } from '../admin/admin-socket.ts';
import { describeError } from '../engines/engine-error.ts';
import { createHttpHandler } from '../http/handler.ts';
import { hostPolicy, isLoopback } from '../http/guard.ts';
import type { HostPolicy } from '../http/guard.ts';
import { listen, parseAddress } from '../http/server.ts';
import type { HttpServer } from '../http/server.ts';
import { MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, MIN_CONNECTIONS, RESERVED_DESCRIPTORS } from '../limits.ts';
import { openSingle } from './backend.ts';
import type { Backend } from './backend.ts';
import type { EnsembleLink } from './ensemble-authority.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';
import { ReplicaBackend } from './replica-backend.ts';
import { readSecret, replicaSettings } from './replica-settings.ts';
import type { ReplicaOptions, ReplicaSettings } from './replica-settings.ts';

/** How long a stop waits for the requests under way. */
const STOP_GRACE_MS = 5_000;

export interface ServeOptions extends ReplicaOptions {
  readonly listen: string;
  readonly data: string;
  readonly insecure: boolean;
  readonly allowTokenJumps: boolean;
  /** `host:port` of the ensemble's servers, with commas between them. @default none: no token is confirmed */
  readonly ensemble?: string;
  readonly verifyTokens: boolean;
  /** @default 4,096 */
  readonly maxConnections?: number;
  /** @default 256 */
  readonly maxConnectionsPerAddress?: number;
}

export interface ServeDependencies {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly logger: Logger;
  /** Between replicas. */
  readonly network: Network;
  readonly random: Random;
  /** How many files the process may have open; undefined where the system does not say. */
  readonly descriptorLimit: number | undefined;
  /** Where locks are looked at; connects when it is first asked. */
  linkToEnsemble(servers: readonly string[]): EnsembleLink;
  /** A session at the ensemble, for a replica. Rejects where it cannot be had. */
  connectToEnsemble(
    servers: readonly string[],
    options: { readonly sessionTimeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Client>;
  /** Resolves with the name of the signal that asks to stop. */
  readonly stopRequested: Promise<string>;
  /** Called once, when requests are answered from now on. */
  onServing(url: string): void;
}

/** Rejects with {@link ExitError}; resolves after a clean stop. */
export async function serve(options: ServeOptions, dependencies: ServeDependencies): Promise<void> {
  const { disk, logger } = dependencies;
  const address = parseAddress(options.listen);
  if (address === undefined) {
    throw new ExitError(
      EXIT_CODE.usage,
      `--listen ${options.listen} is not an address such as 127.0.0.1:7400 or [::1]:7400`,
    );
  }
  if (!isLoopback(address.host) && !options.insecure) {
    throw new ExitError(
      EXIT_CODE.usage,
      `--listen ${options.listen} is open to the network and fenced-kvd has no authentication; ` +
        'listen on 127.0.0.1, or say --insecure where the network is trusted',
    );
  }
  const servers = ensembleServers(options);
  const settings = replicaSettings(options, servers);
  const maxConnections = roomForConnections(options, dependencies);
  const failure = newSignal<Error>();
  const secret = settings === undefined ? undefined : await readSecret(settings.secretFile, disk);
  const ensemble = servers === undefined ? undefined : dependencies.linkToEnsemble(servers);
  const backend = await openBackend(options, { ensemble, settings, secret, onFailure: failure.resolve }, dependencies);
  const refusals = new RefusalLog('closed a connection', dependencies);
  let admin: AdminSocket | undefined;
  let failed: Error | undefined;
  let notClosed: unknown;
  try {
    const hosts = hostsOf(address.host, settings);
    const handler = createHttpHandler({ store: backend.source, hosts, processMetrics: true }, dependencies);
    const { maxConnectionsPerAddress = MAX_CONNECTIONS_PER_ADDRESS } = options;
    const refused = refusals.refused.bind(refusals);
    const server = await listen(handler, address, { maxConnections, maxConnectionsPerAddress, refused }).catch(
      (error: unknown) => {
        throw listenError(options.listen, error);
      },
    );
    admin = await openAdminSocket(options.data, createAdminHandler(backend, { logger }), { logger });
    logger.info({ url: server.url, data: options.data }, 'serving');
    backend.begin(server.url);
    dependencies.onServing(server.url);
    const closing = (): void => backend.stopFollowing();
    failed = await serveUntilEnd(server, failure.promise, { ...dependencies, closing });
  } finally {
    refusals.stop();
    await admin?.close();
    await ensemble?.close();
    notClosed = await backend.close().catch((error: unknown) => error);
  }
  // A disk that has failed refuses to be let go of, too: what has ended the program is what it says.
  if (failed instanceof ExitError) throw failed;
  if (failed !== undefined) throw new ExitError(EXIT_CODE.diskError, failed.message, { cause: failed });
  if (notClosed !== undefined) throw notClosed;
  logger.info({}, 'stopped');
}

/** Rejects with {@link ExitError}. */
async function openBackend(
  options: ServeOptions,
  parts: {
    readonly ensemble: EnsembleLink | undefined;
    readonly settings: ReplicaSettings | undefined;
    readonly secret: Uint8Array | undefined;
    readonly onFailure: (error: Error) => void;
  },
  dependencies: ServeDependencies,
): Promise<Backend> {
  const { data, allowTokenJumps, verifyTokens } = options;
  const { ensemble, settings, secret, onFailure } = parts;
  const store = { allowTokenJumps, authority: ensemble, demandLocks: verifyTokens, clock: dependencies.clock };
  const deps = { ...dependencies, onFailure };
  if (settings === undefined || secret === undefined) return await openSingle(data, store, deps);
  const { servers, sessionTimeoutMs } = settings;
  const connect = async (signal: AbortSignal): Promise<Client> =>
    await dependencies.connectToEnsemble(servers, { sessionTimeoutMs, signal });
  return await ReplicaBackend.open(data, { settings, secret, store }, { ...deps, connect });
}

/** Clients come to the name under which a replica is known to its group, too. */
function hostsOf(host: string, settings: ReplicaSettings | undefined): HostPolicy {
  const hosts = hostPolicy(host);
  if (settings?.advertise === undefined) return hosts;
  return { ...hosts, names: [...hosts.names, new URL(settings.advertise).hostname.replace(/^\[|\]$/g, '')] };
}

/** @throws ExitError */
function ensembleServers({ ensemble, verifyTokens }: ServeOptions): string[] | undefined {
  if (ensemble === undefined) {
    if (!verifyTokens) return undefined;
    throw new ExitError(
      EXIT_CODE.usage,
      '--verify-tokens asks the lock ensemble for every new token; say where it is with --ensemble host:port,…',
    );
  }
  const servers = ensemble.split(',');
  const wrong = servers.find((server) => (parseAddress(server)?.port ?? 0) === 0);
  if (wrong === undefined) return servers;
  throw new ExitError(
    EXIT_CODE.usage,
    `--ensemble ${JSON.stringify(wrong)} is not an address such as 127.0.0.1:7101; give those of the servers with commas between them`,
  );
}

/** @throws ExitError */
function roomForConnections(options: ServeOptions, { descriptorLimit, logger }: ServeDependencies): number {
  const wanted = options.maxConnections ?? MAX_CONNECTIONS;
  const least = Math.min(MIN_CONNECTIONS, wanted);
  const wish = { wanted, least, reserved: RESERVED_DESCRIPTORS, reservedFor: 'the data and the process itself' };
  const room = connectionRoom(wish, descriptorLimit);
  if (room.type === 'no-room') throw new ExitError(EXIT_CODE.usage, room.problem);
  const { maxConnections, warning } = room;
  if (warning !== undefined) logger.warn({ maxConnections }, warning);
  return maxConnections;
}

async function serveUntilEnd(
  server: HttpServer,
  failure: Promise<Error>,
  { logger, stopRequested, closing }: ServeDependencies & { readonly closing: () => void },
): Promise<Error | undefined> {
  const end = await Promise.race([stopRequested, failure]);
  if (typeof end === 'string') logger.info({ signal: end }, 'stopping');
  else logger.error({ err: end }, 'the disk failed, or the group does not take this replica; stopping');
  closing();
  await server.close(STOP_GRACE_MS);
  return typeof end === 'string' ? undefined : end;
}

function listenError(listenOn: string, error: unknown): ExitError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EADDRINUSE'
    ? new ExitError(
        EXIT_CODE.portInUse,
        `${listenOn} is in use by another process; stop that one or choose another --listen`,
        { cause: error },
      )
    : new ExitError(EXIT_CODE.usage, `cannot listen on ${listenOn}: ${describeError(error)}`, { cause: error });
}

function newSignal<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
