/**
 * Finds a server that welcomes this client: one after another, at once after a loss and then with growing, random delays; and goes
 * on from a follower to the leader before the session attaches, since every write ends there anyway.
 */

import {
  isDialError,
  type Address,
  type Clock,
  type Logger,
  type Network,
  type Random,
  type Timer,
} from '@holdfast/runtime';
import { Backoff } from '../backoff.ts';
import { ConnectionError, HoldfastError } from '../errors.ts';
import type { ResolvedOptions } from '../options.ts';
import { Patience } from './patience.ts';
import {
  GreetingTimeoutError,
  ServerBusyError,
  openServerConnection,
  type ServerConnection,
} from './server-connection.ts';
import type { ServerList } from './server-list.ts';

const FIRST_DELAY_MS = 10;
/** And at most this part of the session's timeout, where that is more. */
const MAX_DELAY_MS = 250;
const MAX_DELAY_PART = 1 / 20;
/** No step of a dial waits longer than this part of the session's timeout, so that there is time for another server. */
const MAX_PATIENCE_PART = 1 / 3;
/** Of the time over which clients spread: who comes among many waits at least so long. */
const CROWD_PATIENCE_FACTOR = 2;
/** A server with a crowd before its door is attached to where it is; the move to the leader can wait. */
const CROWD_SPREAD_MS = 200;

export interface ConnectorDeps {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

export interface ConnectAttempt {
  /** Before the first dial. */
  readonly firstDelayMs: number | 'backoff';
  /** Gives up when every configured server has refused in a way that no retry changes. */
  readonly untilRefused: boolean;
  /** Gives up when every server has been tried, and those that answer know no leader. */
  readonly untilLeaderless: boolean;
  /** Gives up when every server has been tried and none could be reached. */
  readonly untilUnreachable: boolean;
  readonly preferLeader: boolean;
}

export class Connector {
  readonly #options: ResolvedOptions;
  readonly #servers: ServerList;
  readonly #deps: ConnectorDeps;
  readonly #backoff: Backoff;
  readonly #patience: Patience;
  #stopped = false;
  #gaveUpFor: HoldfastError | undefined;
  #delay: { readonly timer: Timer; wake(): void } | undefined;

  constructor(options: ResolvedOptions, servers: ServerList, deps: ConnectorDeps) {
    this.#options = options;
    this.#servers = servers;
    this.#deps = deps;
    const { sessionTimeoutMs, dialTimeoutMs } = options;
    const maxDelayMs = Math.max(MAX_DELAY_MS, sessionTimeoutMs * MAX_DELAY_PART);
    this.#backoff = new Backoff(deps.random, FIRST_DELAY_MS, maxDelayMs);
    this.#patience = new Patience(dialTimeoutMs, sessionTimeoutMs * MAX_PATIENCE_PART);
  }

  /** Why the last attempt ended without a connection; undefined when it did not. */
  get gaveUpFor(): HoldfastError | undefined {
    return this.#gaveUpFor;
  }

  /** The connection was stable: the next attempts begin without delay. */
  connectedForGood(): void {
    this.#backoff.reset();
    this.#patience.reset();
  }

  /** A welcomed connection, the leader's where possible; undefined once stopped, or when it is given up. */
  async connect(options: ConnectAttempt): Promise<ServerConnection | undefined> {
    const { firstDelayMs } = options;
    this.#gaveUpFor = undefined;
    const sinceMs = this.#deps.clock.monotonicMs();
    if (firstDelayMs !== 0) await this.#wait(firstDelayMs === 'backoff' ? this.#backoff.nextMs() : firstDelayMs);
    while (!this.#stopped) {
      const { busyMs } = this.#servers;
      if (busyMs > 0) {
        await this.#wait(busyMs);
        continue;
      }
      const connection = await this.#open(this.#servers.next());
      if (connection !== undefined) {
        const moveNow = options.preferLeader && this.#servers.spreadMs < CROWD_SPREAD_MS;
        return moveNow ? await this.#preferLeader(connection) : connection;
      }
      if (options.untilRefused) this.#gaveUpFor = this.#servers.refusal;
      if (options.untilLeaderless) this.#gaveUpFor ??= this.#leaderless(sinceMs);
      if (options.untilUnreachable) this.#gaveUpFor ??= this.#unreachable(sinceMs);
      if (this.#gaveUpFor !== undefined) return undefined;
      if (this.#servers.busyMs === 0) await this.#wait(this.#backoff.nextMs());
    }
    return undefined;
  }

  /** A connection to the leader, or undefined when that is where `server` is, or it cannot be had. */
  async connectToLeader(server: number): Promise<ServerConnection | undefined> {
    const { leader } = this.#servers;
    const address = this.#servers.leaderAddress();
    if (leader === 0 || leader === server || address === undefined) return undefined;
    return await this.#open(address);
  }

  stop(): void {
    this.#stopped = true;
    this.#delay?.timer.cancel();
    this.#delay?.wake();
  }

  async #preferLeader(connection: ServerConnection): Promise<ServerConnection | undefined> {
    const leading = await this.connectToLeader(connection.welcome.server);
    if (leading === undefined) return connection;
    connection.destroy('the leader is preferred');
    return leading;
  }

  async #open(address: Address): Promise<ServerConnection | undefined> {
    try {
      const connection = await openServerConnection(
        { ...this.#options, address, patienceMs: this.#patienceMs },
        this.#deps,
      );
      if (this.#stopped) {
        connection.destroy('the client was closed');
        return undefined;
      }
      this.#servers.answered(address, connection.welcome.server);
      this.#servers.learn(connection.welcome);
      return connection;
    } catch (error) {
      const againInMs = againInMsOf(error);
      if (againInMs !== undefined && error instanceof Error) {
        this.#servers.busy(address, Math.min(againInMs, this.#options.sessionTimeoutMs * MAX_PATIENCE_PART));
        this.#deps.logger.debug({ address, reason: error.message }, 'a server takes this client later');
        return undefined;
      }
      if (isTimeout(error)) this.#patience.ranOut();
      const reason = error instanceof Error ? error.message : String(error);
      this.#servers.failed(address, reason, error instanceof HoldfastError ? error : undefined);
      this.#deps.logger.debug({ address, reason }, 'a server could not be reached');
      return undefined;
    }
  }

  #leaderless(sinceMs: number): HoldfastError | undefined {
    if (!this.#servers.leaderlessSince(sinceMs)) return undefined;
    const text = `no server that answers knows a leader: ${this.#servers.describeFailures()}`;
    return new ConnectionError(text, { code: 'NO_LEADER' });
  }

  #unreachable(sinceMs: number): HoldfastError | undefined {
    if (!this.#servers.unreachableSince(sinceMs)) return undefined;
    const failures = this.#servers.describeFailures();
    return new ConnectionError(
      `no server could be reached: ${failures}. Check the addresses and that the servers run, or leave out failFast to wait for them.`,
    );
  }

  /** Longer from the first dial on where many come at once. */
  get #patienceMs(): number {
    const crowdMs = Math.min(
      CROWD_PATIENCE_FACTOR * this.#servers.spreadMs,
      this.#options.sessionTimeoutMs * MAX_PATIENCE_PART,
    );
    return Math.max(this.#patience.ms, crowdMs);
  }

  #wait(delayMs: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#delay = undefined;
        resolve();
      };
      this.#delay = { timer: this.#deps.clock.setTimer(delayMs, wake), wake };
    });
  }
}

function againInMsOf(error: unknown): number | undefined {
  return error instanceof ServerBusyError || isDialError(error) ? error.againInMs : undefined;
}

function isTimeout(error: unknown): boolean {
  return error instanceof GreetingTimeoutError || (isDialError(error) && error.failure === 'timeout');
}

/** What `connect` rejects with when it gives up: `wanted` is what it has not got. */
export function unreachable(servers: ServerList, wanted: string, afterMs: number): ConnectionError {
  const failures = servers.describeFailures();
  return new ConnectionError(
    `no ${wanted} within ${afterMs} ms${failures === '' ? '' : `; last: ${failures}`}. Check the addresses and that a majority of the servers runs.`,
  );
}
