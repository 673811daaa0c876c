/**
 * A replica's part in the ensemble: it waits for the group's lock, has itself elected with the token, and follows the configuration. The
 * token is the epoch. Who loses the lock goes on as primary until the configuration names another. When its session has expired, it
 * connects anew.
 */

import type { Client, HeldLock } from '@holdfast/client';
import type { Clock, Logger, Timer } from '@holdfast/runtime';

import type { Configuration, Epoch, StepDownReason, VersionedConfiguration } from '../core/index.ts';
import { EnsembleConfiguration } from './ensemble-configuration.ts';
import type { ConfigurationNode } from './replica-node.ts';

/** How long until it is tried again, after something has failed or this replica could not become primary. */
const RETRY_MS = 500;

/** What {@link GroupMembership} does to a replica; a ReplicaNode is one. */
interface Electable {
  elected(token: Epoch, configuration: VersionedConfiguration): void;
  configurationChanged(configuration: VersionedConfiguration): void;
}

interface GroupMembershipDeps {
  readonly group: string;
  /** A client of the ensemble, with a session of its own; called again when that has expired. */
  connect(): Promise<Client>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class GroupMembership implements ConfigurationNode {
  readonly #deps: GroupMembershipDeps;
  readonly #stop = new AbortController();
  readonly #timers = new Map<Timer, () => void>();
  #present: { readonly client: Client; readonly configuration: EnsembleConfiguration } | undefined;
  #candidacy: { readonly epoch: Epoch; readonly end: () => void } | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: GroupMembershipDeps) {
    this.#deps = deps;
  }

  /** Begins; whatever fails is tried again until it is stopped. */
  start(replica: Electable): void {
    this.#running = this.#run(replica);
  }

  /** The replica has ended this epoch, or did not begin it: another may have the lock. */
  steppedDown(epoch: Epoch, reason: StepDownReason): void {
    this.#deps.logger.info({ epoch, reason }, 'this replica is not primary');
    if (this.#candidacy?.epoch === epoch) this.#candidacy.end();
  }

  /** The replica can do nothing as primary: another may have the lock. */
  giveUp(): void {
    this.#candidacy?.end();
  }

  /** Gives the lock back, and ends the session. */
  async stop(): Promise<void> {
    this.#stop.abort();
    for (const [timer, wake] of this.#timers) {
      timer.cancel();
      wake();
    }
    this.#candidacy?.end();
    await this.#running;
  }

  async read(): Promise<VersionedConfiguration> {
    return await this.#configuration().read();
  }

  async write(expectedVersion: number, configuration: Configuration): Promise<VersionedConfiguration> {
    return await this.#configuration().write(expectedVersion, configuration);
  }

  #configuration(): EnsembleConfiguration {
    if (this.#present !== undefined) return this.#present.configuration;
    throw new Error('the ensemble cannot be reached yet');
  }

  async #run(replica: Electable): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#live(await this.#deps.connect(), replica);
      } catch (error) {
        this.#failed(error);
      }
      await this.#pause();
    }
  }

  /** One session. */
  async #live(client: Client, replica: Electable): Promise<void> {
    const configuration = new EnsembleConfiguration(client.nodes, this.#deps.group);
    this.#present = { client, configuration };
    const left = new AbortController();
    const following = this.#follow(replica, left.signal);
    try {
      while (!this.#stop.signal.aborted && isUsable(client)) await this.#stand(client, replica);
    } finally {
      left.abort();
      await following;
      this.#present = undefined;
      await client.close();
    }
  }

  /** Waits for the lock, and has it until the epoch or the hold is over. */
  async #stand(client: Client, replica: Electable): Promise<void> {
    try {
      const lock = client.lock(`fenced-kv/${this.#deps.group}/primary`);
      const held = await lock.acquire({ signal: this.#stop.signal });
      try {
        await this.#lead(held, replica);
      } finally {
        await held.release().catch(() => {});
      }
    } catch (error) {
      this.#failed(error);
    }
    // Another one, which may be in sync, comes first.
    await this.#pause();
  }

  async #lead(held: HeldLock, replica: Electable): Promise<void> {
    const configuration = await this.read();
    await new Promise<void>((resolve) => {
      this.#candidacy = { epoch: held.token, end: resolve };
      held.signal.addEventListener('abort', () => resolve(), { once: true });
      if (this.#stop.signal.aborted) resolve();
      else replica.elected(held.token, configuration);
    });
    this.#candidacy = undefined;
  }

  async #follow(replica: Electable, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#stop.signal.aborted) {
      try {
        const { client, configuration } = this.#present ?? {};
        if (client === undefined || configuration === undefined) return;
        const events = client.nodes.watch(configuration.path, { onMissed: 'resync', signal });
        await events.started;
        replica.configurationChanged(await configuration.read());
        for await (const _event of events) replica.configurationChanged(await configuration.read());
      } catch (error) {
        if (!signal.aborted) this.#failed(error);
      }
      if (!signal.aborted) await this.#pause();
    }
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#deps.logger.warn({ err: error, group: this.#deps.group }, 'the ensemble could not be asked; trying again');
  }

  async #pause(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#deps.clock.setTimer(RETRY_MS, () => {
        this.#timers.delete(timer);
        resolve();
      });
      this.#timers.set(timer, resolve);
    });
  }
}

function isUsable({ state }: Client): boolean {
  return state !== 'expired' && state !== 'closed';
}
