/**
 * Moves an attached session to the leader when the leadership changes: after a random delay, so that not all clients move at once,
 * and over a connection that is welcomed before the present one is given up. Once a change: if it fails, the session stays where it is.
 */

import type { Clock, Logger, Random, Timer } from '@holdfast/runtime';
import type { Connector } from './connector.ts';
import type { ServerConnection } from './server-connection.ts';
import type { ServerList } from './server-list.ts';

const MIN_DELAY_MS = 20;
const SPREAD_MS = 400;
/** Of a crowd: moves begin when all have come back, and may take longer than that, since nobody waits for them. */
const RETURN_FACTOR = 3;
const SPREAD_FACTOR = 4;

export interface Movable {
  /** The server to which the session is attached; undefined while it is not. */
  currentServer(): number | undefined;
  moveTo(connection: ServerConnection): void;
}

export class LeaderFollower {
  readonly #servers: ServerList;
  readonly #connector: Connector;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #session: Movable;
  #timer: Timer | undefined;
  #moving = false;
  #triedLeader = 0;

  constructor(
    servers: ServerList,
    connector: Connector,
    deps: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
    session: Movable,
  ) {
    this.#servers = servers;
    this.#connector = connector;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#logger = deps.logger;
    this.#session = session;
  }

  /** The leader may be another than before. */
  leaderChanged(): void {
    const { leader, leaderUncertainMs } = this.#servers;
    if (leaderUncertainMs > 0) {
      this.#after(leaderUncertainMs, () => this.leaderChanged());
      return;
    }
    const current = this.#session.currentServer();
    if (leader === current) this.#triedLeader = 0;
    if (leader === 0 || current === undefined || leader === current || leader === this.#triedLeader) return;
    if (this.#timer !== undefined || this.#moving || this.#servers.leaderAddress() === undefined) return;
    const returnMs = Math.max(MIN_DELAY_MS, RETURN_FACTOR * this.#servers.spreadMs);
    const spreadMs = Math.max(SPREAD_MS, SPREAD_FACTOR * this.#servers.spreadMs);
    this.#after(returnMs + this.#random.next() * spreadMs, () => {
      this.#move().catch((error: unknown) => this.#logger.error({ error }, 'moving to the leader failed'));
    });
  }

  #after(delayMs: number, run: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      run();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  async #move(): Promise<void> {
    const current = this.#session.currentServer();
    if (current === undefined) return;
    this.#moving = true;
    this.#triedLeader = this.#servers.leader;
    try {
      const connection = await this.#connector.connectToLeader(current);
      if (connection === undefined) return;
      if (this.#session.currentServer() === current && connection.open) this.#session.moveTo(connection);
      else connection.destroy('the session is elsewhere already');
    } finally {
      this.#moving = false;
    }
  }
}
