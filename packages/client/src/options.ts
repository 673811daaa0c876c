/** What `connect` takes, its defaults, and the checks that turn a wrong option into an error that names it. */

import {
  DEFAULT_SESSION_TIMEOUT_MS,
  MAX_LABEL_LENGTH,
  MAX_SESSION_TIMEOUT_MS,
  MIN_SESSION_TIMEOUT_MS,
} from '@holdfast/protocol';
import { loggerWithChildren, silentLogger, type Logger, type PlainLogger } from '@holdfast/runtime';
import { InvalidArgumentError } from './errors.ts';
import type { SessionLost } from './incarnations/session-lost.ts';
import { checkOptionNames } from './option-names.ts';

/**
 * What `connect` takes.
 *
 * @example
 * const client = await connect({ servers: ['127.0.0.1:7101'], sessionTimeoutMs: 5_000, label: 'worker-1' });
 */
export interface ConnectOptions {
  /** `host:port` of any servers of the ensemble, better of all; the client learns of the others from those it reaches. */
  readonly servers: readonly string[];
  /**
   * How long the ensemble waits for a client that is silent before it ends its session and grants its locks to others. Short: locks of
   * a dead client come free soon. Long: pauses and outages of that length cost nothing. From 1,000 to 120,000.
   * @default 10_000
   */
  readonly sessionTimeoutMs?: number;
  /**
   * For how long the event loop may stand still, in a long computation say, without the session being lost: a thread of its own renews it
   * meanwhile. When it stands still for longer, that thread stops, so that a process that hangs loses its locks. It costs a thread, and
   * every message a copy. 0 is no such thread: then the session timeout is what a computation may take. @default 0
   */
  readonly maxStallMs?: number;
  /** What operators see beside the session, for example `host:pid`. @default '' */
  readonly label?: string;
  /** Refuses servers of another ensemble. @default '' (any) */
  readonly clusterId?: string;
  /** How long `connect` tries. A session that was made and not heard of ends by itself. @default 10_000 */
  readonly connectTimeoutMs?: number;
  /**
   * Gives up connecting as soon as every server has been dialled and none could be reached, instead of trying until `connectTimeoutMs`:
   * within a second where all refuse, and after `dialTimeoutMs` for each that hangs. A server that answers is waited for, as ever.
   * Without effect once connected. @default false
   */
  readonly failFast?: boolean;
  /** Limit of every call that names none; never of a wait for a lock. @default 10_000 */
  readonly requestTimeoutMs?: number;
  /**
   * Limit of every wait for a lock that names none. With a limit, two who each wait for a lock of the other end with TimeoutError instead
   * of waiting for ever. Campaigns of elections wait without limit. @default no limit
   */
  readonly defaultWaitMs?: number;
  /**
   * A wait for a lock that takes longer is logged as a warning and is the event `long-wait`, with who holds the lock and how many are
   * before; again each time that it has waited twice as long. `Infinity` for never. @default 30_000
   */
  readonly longWaitMs?: number;
  /** How long `close` may take to give everything back; after that the session ends by its timeout. @default 5_000 */
  readonly closeTimeoutMs?: number;
  /**
   * How long each step of the first dial may take: until the host accepts the connection, until the process there shakes hands, until
   * the server welcomes. A server that hangs costs that much before the next is tried. After each dial that ran out of time the next one
   * waits twice as long, up to a third of the session timeout: a server before which many wait is not left by all of them in vain.
   * @default 1_000
   */
  readonly dialTimeoutMs?: number;
  /** Silence, while an answer is due, after which a server is asked whether it lives. @default 400, or a tenth of the session timeout if that is less */
  readonly pingAfterMs?: number;
  /** Silence after that question that makes the client go to the next server. @default 1_200, or a quarter of the session timeout if that is less */
  readonly pongTimeoutMs?: number;
  /** Requests that may wait in this client to be sent; one more is refused with OverloadedError. @default 100_000 */
  readonly maxQueuedRequests?: number;
  /** Moves the session to the leader, which saves a hop for every write. @default true */
  readonly preferLeader?: boolean;
  /**
   * Makes a new session by itself when the ensemble has ended the present one. What the old session had is lost all the same: its holds,
   * its places in queues, its ephemeral nodes and its watches; `onSessionLost` says so. Waits for locks ask anew, at the end of the queue,
   * and calls wait for the new session, each up to its limit. @default false: the client is over with its session
   */
  readonly resilient?: boolean;
  /**
   * Is called when the ensemble has ended the session, not after `close`: with what was lost, and after the signals of the holds have
   * aborted. A resilient client takes calls for its next session by then.
   */
  readonly onSessionLost?: (lost: SessionLost) => void;
  /** Hears of what an operator should know, as `(fields, message)`: a pino instance, or `console`. @default none */
  readonly logger?: PlainLogger;
  /** Gives up connecting, with the signal's reason. Without effect on the connected client. */
  readonly signal?: AbortSignal;
}

/**
 * What a client connects for. `session`: one of the ensemble's. `give-back`: the same, made so as to give something back, which servers
 * take while their disks are almost full. `ask`: no session, at servers that know a leader. `ask-anyone`: no session, at any server.
 */
export type Purpose = 'session' | 'give-back' | 'ask' | 'ask-anyone';

export type ResolvedOptions = Required<Omit<ConnectOptions, 'signal' | 'onSessionLost' | 'logger'>> &
  Pick<ConnectOptions, 'signal' | 'onSessionLost'> & { readonly logger: Logger; readonly purpose: Purpose };

const OPTION_NAMES: Record<keyof ConnectOptions, true> = {
  servers: true,
  sessionTimeoutMs: true,
  maxStallMs: true,
  label: true,
  clusterId: true,
  connectTimeoutMs: true,
  failFast: true,
  requestTimeoutMs: true,
  defaultWaitMs: true,
  longWaitMs: true,
  closeTimeoutMs: true,
  dialTimeoutMs: true,
  pingAfterMs: true,
  pongTimeoutMs: true,
  maxQueuedRequests: true,
  preferLeader: true,
  resilient: true,
  onSessionLost: true,
  logger: true,
  signal: true,
};

/** @throws InvalidArgumentError */
export function resolveOptions(options: ConnectOptions): ResolvedOptions {
  checkOptionNames('connect', options, OPTION_NAMES);
  const sessionTimeoutMs = options.sessionTimeoutMs ?? DEFAULT_SESSION_TIMEOUT_MS;
  const resolved: ResolvedOptions = {
    servers: options.servers,
    sessionTimeoutMs,
    maxStallMs: options.maxStallMs ?? 0,
    label: options.label ?? '',
    clusterId: options.clusterId ?? '',
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    failFast: options.failFast ?? false,
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    defaultWaitMs: options.defaultWaitMs ?? Number.POSITIVE_INFINITY,
    longWaitMs: options.longWaitMs ?? 30_000,
    closeTimeoutMs: options.closeTimeoutMs ?? 5_000,
    dialTimeoutMs: options.dialTimeoutMs ?? 1_000,
    pingAfterMs: options.pingAfterMs ?? Math.min(400, sessionTimeoutMs / 10),
    pongTimeoutMs: options.pongTimeoutMs ?? Math.min(1_200, sessionTimeoutMs / 4),
    maxQueuedRequests: options.maxQueuedRequests ?? 100_000,
    preferLeader: options.preferLeader ?? true,
    resilient: options.resilient ?? false,
    logger: loggerOf(options.logger),
    purpose: 'session',
    ...(options.signal !== undefined && { signal: options.signal }),
    ...(options.onSessionLost !== undefined && { onSessionLost: options.onSessionLost }),
  };
  check(resolved);
  return resolved;
}

const LOGGER_METHODS: readonly (keyof PlainLogger)[] = ['debug', 'info', 'warn', 'error'];

/** @throws InvalidArgumentError */
function loggerOf(logger: PlainLogger | undefined): Logger {
  if (logger === undefined) return silentLogger;
  checkLogger(logger);
  return loggerWithChildren(logger);
}

function checkLogger(logger: unknown): void {
  const methods: Partial<Record<string, unknown>> = typeof logger === 'object' && logger !== null ? logger : {};
  const missing = LOGGER_METHODS.filter((name) => typeof methods[name] !== 'function');
  if (missing.length === 0) return;
  throw new InvalidArgumentError(
    `logger has no method ${missing.join(', ')}; pass a pino instance, console, or an object with ${LOGGER_METHODS.join(', ')} ` +
      'that take (fields, message); leave it out to log nothing',
  );
}

function check(options: ResolvedOptions): void {
  const { servers, sessionTimeoutMs, label } = options;
  if (!Array.isArray(servers) || servers.length === 0) {
    throw new InvalidArgumentError('servers must name at least one server, as host:port');
  }
  for (const server of servers as readonly unknown[]) {
    if (typeof server !== 'string' || !isAddress(server)) {
      throw new InvalidArgumentError(`servers has ${JSON.stringify(server)}, which is not host:port`);
    }
  }
  if (
    !Number.isInteger(sessionTimeoutMs) ||
    sessionTimeoutMs < MIN_SESSION_TIMEOUT_MS ||
    sessionTimeoutMs > MAX_SESSION_TIMEOUT_MS
  ) {
    throw new InvalidArgumentError(
      `sessionTimeoutMs is ${sessionTimeoutMs}; it must be a whole number from ${MIN_SESSION_TIMEOUT_MS} to ${MAX_SESSION_TIMEOUT_MS}`,
    );
  }
  if (typeof label !== 'string' || label.length > MAX_LABEL_LENGTH) {
    throw new InvalidArgumentError(`label must be text of at most ${MAX_LABEL_LENGTH} characters`);
  }
  for (const name of ['resilient', 'failFast', 'preferLeader'] as const) {
    const value: unknown = options[name];
    if (typeof value === 'boolean') continue;
    throw new InvalidArgumentError(`${name} is ${JSON.stringify(value)}; it must be true or false`);
  }
  const { onSessionLost }: { readonly onSessionLost?: unknown } = options;
  if (onSessionLost !== undefined && typeof onSessionLost !== 'function') {
    throw new InvalidArgumentError('onSessionLost must be a function, which is called with what was lost');
  }
  checkDuration('maxStallMs', options.maxStallMs);
  checkDuration('connectTimeoutMs', options.connectTimeoutMs);
  checkDuration('requestTimeoutMs', options.requestTimeoutMs);
  checkDuration('defaultWaitMs', options.defaultWaitMs);
  checkDuration('longWaitMs', options.longWaitMs);
  if (options.longWaitMs === 0)
    throw new InvalidArgumentError('longWaitMs is 0; it must be more, or Infinity for no reports of long waits');
  checkDuration('closeTimeoutMs', options.closeTimeoutMs);
  checkDuration('dialTimeoutMs', options.dialTimeoutMs);
  checkDuration('pingAfterMs', options.pingAfterMs);
  checkDuration('pongTimeoutMs', options.pongTimeoutMs);
  checkDuration('maxQueuedRequests', options.maxQueuedRequests);
}

/** @throws InvalidArgumentError unless it is a number from 0 on; `Infinity` is one. */
export function checkDuration(name: string, value: number | undefined): void {
  if (value === undefined) return;
  if (typeof value !== 'number' || !(value >= 0)) {
    throw new InvalidArgumentError(`${name} is ${String(value)}; it must be a number that is not negative`);
  }
}

function isAddress(text: string): boolean {
  const match = /^(?:\[[^\]]+\]|[^:\s[\]]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[1]);
  return port > 0 && port < 65_536;
}
