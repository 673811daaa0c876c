/**
 * What operators do about the members of a live ensemble, by the admin requests that `lockctl member` makes. A number whose server was
 * removed before, as the leader say, stands for another voter, so that every change that is drawn changes something.
 */

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import type { HistoryEventBody } from '../../../history/history.ts';
import type { Capabilities, Effect } from '../../../nemeses/target.ts';
import { LEADER, serverHost } from '../../../plan/plan.ts';
import { MemberChanges } from '../../members/member-changes.ts';
import type { MembersWorld } from '../../members/members-world.ts';
import type { ScrapedStatus } from '../processes/scrape.ts';
import type { LiveServer } from './live-server.ts';
import { ObserverVisits } from './observer-visits.ts';

/** For so long a leader is waited for. */
const PATIENCE_MS = 10_000;
/** For an observer to serve somebody, before it is promoted or removed. */
const SERVES_MS = 10_000;
const LOOK_MS = 20;

export interface LiveMembersOptions {
  readonly founders: number;
  /** By host, those that may join among them. */
  readonly servers: ReadonlyMap<string, LiveServer>;
  readonly clientAddress: (host: string) => string;
  readonly peerAddress: (host: string) => string;
  /** What servers have said of themselves lately. */
  readonly scraper: {
    readonly leader: number | undefined;
    readonly members: MembersWorld['members'] | undefined;
    readonly latest: ReadonlyMap<string, ScrapedStatus>;
  };
  readonly after: (ms: number, action: () => void) => void;
  readonly count: (effect: Effect) => void;
  readonly fail: (name: string, message: string) => void;
  readonly failed: (error: unknown) => void;
  /** What the one who visits observers calls and is told. */
  readonly record: (event: HistoryEventBody) => void;
}

export class LiveMembers {
  readonly changes: MemberChanges;
  readonly #world: MembersWorld;
  readonly #added = new Map<number, Promise<void>>();
  readonly #losing = new Map<number, Promise<void>>();
  /** Resolves when an observer has served. */
  readonly #visited = new Map<number, Promise<void>>();
  readonly #servers: LiveMembersOptions['servers'];
  readonly #addressOf: (server: number) => string;
  readonly visits: ObserverVisits;

  constructor(options: LiveMembersOptions) {
    this.#world = worldOf(options);
    this.#servers = options.servers;
    this.#addressOf = (server) => options.clientAddress(serverHost(server));
    this.visits = new ObserverVisits({
      runtime: this.#world.runtime,
      record: options.record,
      served: () => options.count('observer-served'),
      failed: options.failed,
    });
    this.changes = new MemberChanges(this.#world);
  }

  readonly capability: Capabilities['members'] = {
    add: (server, how) => {
      const added = this.changes.add(server, how);
      this.#added.set(server, added);
      if (how.observer) this.#visited.set(server, this.#visit(server, added));
      return added;
    },
    // Before it is added it can be neither promoted nor removed, and its process may take a while to start. Once it is removed it has
    // no disk to lose.
    promote: async (server) => {
      await this.#added.get(server);
      await this.#serves(server);
      await this.changes.promote(server);
    },
    remove: async (server) => {
      if (server === LEADER) await this.#someoneLeads();
      else {
        await Promise.all([this.#added.get(server), this.#losing.get(server)]);
        await this.#serves(server);
      }
      await this.changes.remove(server === LEADER ? LEADER : this.#memberFor(server));
    },
    loseDisk: (server) => {
      const lost = this.changes.loseDisk(() => this.#memberFor(server));
      this.#losing.set(server, lost);
      return lost;
    },
    transfer: (server) => this.changes.transfer(server === 0 ? 0 : this.#memberFor(server)),
  };

  /** Who has lost what it acknowledged may be needed for every decision of an ensemble that has become smaller. */
  mayDamage(host: string): boolean {
    const server = this.#servers.get(host);
    return server !== undefined && this.changes.mayDamage(server.id);
  }

  /** Where clients find servers now. */
  get clientAddresses(): readonly string[] {
    return this.#world.clientAddresses();
  }

  async #visit(server: number, added: Promise<void>): Promise<void> {
    await added;
    const isObserver = (): boolean => this.#world.members.some(({ id, role }) => id === server && role === 'observer');
    const deadline = performance.now() + PATIENCE_MS;
    while (!isObserver() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    await this.visits.visit(this.#addressOf(server), isObserver);
  }

  /** Or does not in time: a run in which none has shows nothing of observers. */
  async #serves(server: number): Promise<void> {
    const late = new Promise<void>((resolve) => void setTimeout(resolve, SERVES_MS).unref());
    await Promise.race([this.#visited.get(server), late]);
  }

  /** Between two leaders there is nobody to remove. */
  async #someoneLeads(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (this.#world.leader === undefined && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  #memberFor(server: number): number {
    const { members, leader } = this.#world;
    if (members.some(({ id }) => id === server)) return server;
    return members.find(({ id, role }) => role === 'voter' && id !== leader)?.id ?? server;
  }
}

function worldOf({ servers, scraper, clientAddress, peerAddress, ...rest }: LiveMembersOptions): MembersWorld {
  const { founders, after, count, fail } = rest;
  const statusOf = (id: number): ScrapedStatus | undefined => scraper.latest.get(serverHost(id));
  return {
    runtime: nodeRuntime({ logger: silentLogger }),
    founders,
    founderMustStay: false,
    servers,
    get leader() {
      return scraper.leader;
    },
    get members() {
      return scraper.members ?? Array.from({ length: founders }, (_, n) => ({ id: n + 1, role: 'voter' }));
    },
    clientAddresses: () =>
      [...servers].flatMap(([host, { begun, expelled }]) => (begun && !expelled ? clientAddress(host) : [])),
    peerAddress: (id) => peerAddress(serverHost(id)),
    // The configuration has both, or neither.
    directoryIsKnown: (id, others) =>
      others.every((other) => {
        const known = statusOf(other)?.members.find((member) => member.id === id);
        return known !== undefined && known.clientAddress !== '';
      }),
    hasNoLog: (id) => (statusOf(id)?.lastIndex ?? 0) === 0,
    after,
    count,
    changing: () => undefined,
    transferring: () => undefined,
    removing: (id) => servers.get(serverHost(id))?.removing(),
    losingDisk: () => undefined,
    fail,
  };
}
