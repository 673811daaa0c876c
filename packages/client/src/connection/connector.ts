/**
 * Finds a server that welcomes this client: one after another, at once after a loss and then with growing, random delays; and goes
 * on from a follower to the leader before the session attaches, since every write ends there anyway.
 */

import type { Address, Clock, Logger, Network, Random, Timer } from '@holdfast/runtime';
import { Backoff } from '../backoff.ts';
import { ConnectionError, HoldfastError } from '../errors.ts';
import { openServerConnection, type ServerConnection, type ServerConnectionOptions } from './server-connection.ts';
import type { ServerList } from './server-list.ts';

const FIRST_DELAY_MS = 10;
const MAX_DELAY_MS = 250;

export interface ConnectorDeps {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

export interface ConnectAttempt {
  /** Waits before the first dial as well. */
  readonly delayFirst: boolean;
  /** Gives up when every configured server has refused in a way that no retry changes. */
  readonly untilRefused: boolean;
  readonly preferLeader: boolean;
}

export class Connector {
  readonly #options: Omit<ServerConnectionOptions, 'address'>;
  readonly #servers: ServerList;
  readonly #deps: ConnectorDeps;
  readonly #backoff: Backoff;
  #stopped = false;
  #delay: { readonly timer: Timer; wake(): void } | undefined;

  constructor(options: Omit<ServerConnectionOptions, 'address'>, servers: ServerList, deps: ConnectorDeps) {
    this.#options = options;
    this.#servers = servers;
    this.#deps = deps;
    this.#backoff = new Backoff(deps.random, FIRST_DELAY_MS, MAX_DELAY_MS);
  }

  /** The next attempts begin without delay. */
  settled(): void {
    this.#backoff.reset();
  }

  /** A welcomed connection, the leader's where possible; undefined once stopped, or refused by all. */
  async connect(options: ConnectAttempt): Promise<ServerConnection | undefined> {
    if (options.delayFirst) await this.#wait();
    while (!this.#stopped) {
      const connection = await this.#open(this.#servers.next());
      if (connection !== undefined) return options.preferLeader ? await this.#preferLeader(connection) : connection;
      if (options.untilRefused && this.#servers.refusal !== undefined) return undefined;
      await this.#wait();
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
      const connection = await openServerConnection({ ...this.#options, address }, this.#deps);
      if (this.#stopped) {
        connection.destroy('the client was closed');
        return undefined;
      }
      this.#servers.answered(address);
      this.#servers.learn(connection.welcome.leader, connection.welcome.members);
      return connection;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const final = error instanceof HoldfastError && !error.retryable;
      this.#servers.failed(address, reason, final ? error : undefined);
      this.#deps.logger.debug({ address, reason }, 'a server could not be reached');
      return undefined;
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#delay = undefined;
        resolve();
      };
      this.#delay = { timer: this.#deps.clock.setTimer(this.#backoff.nextMs(), wake), wake };
    });
  }
}

/** What `connect` rejects with when it gives up. */
export function unreachable(servers: ServerList, afterMs: number): ConnectionError {
  const failures = servers.describeFailures();
  return new ConnectionError(
    `no session within ${afterMs} ms${failures === '' ? '' : `; last: ${failures}`}. Check the addresses and that a majority of the servers runs.`,
  );
}
