/**
 * Carries out what a scenario's operators do about the members, and judges how it ended: on a healed cluster every command ends, and the
 * members are those that the operator knows. What would leave the cluster without a majority for good is not asked for, as no
 * operator would who knows which machines are lost; the product must refuse only what it can know.
 */

import type { Client, Members } from '@holdfast/client';
import { LEADER, serverHost } from '../../plan/plan.ts';
import type { Effect } from '../../nemeses/target.ts';
import { isMajority } from '../sim/invariants/configurations.ts';
import type { ChangingServer, MembersWorld } from './members-world.ts';
import { COMMAND_TIMEOUT_MS, Operator } from './operator.ts';

/** How often it is looked whether a disk may be lost now. */
const LOOK_AGAIN_MS = 300;

export interface MemberCounts {
  readonly changesBegun: number;
  readonly changesMade: number;
  readonly changesRefused: number;
  /** Of these, servers that the ensemble took in, and servers that ended because it goes on without them. */
  readonly serversJoined: number;
  readonly serversRemoved: number;
}

/** As the target is asked. */
interface AddOptions {
  readonly observer: boolean;
  readonly startAfterMs: number;
}

/** What the operator knows of a server. */
type Known = 'voter' | 'observer' | 'gone';

export class MemberChanges {
  readonly #world: MembersWorld;
  readonly #operator: Operator;
  readonly #known = new Map<number, Known>();
  /** Servers of which nothing can be demanded, since nobody answered an attempt to change them. */
  readonly #uncertain = new Set<number>();
  /** Removals, and disks that are lost, come one after another: each looks at what the one before has left. */
  #removals: Promise<void> = Promise.resolve();
  /** Of these, those that are under way or wait for their turn. */
  #leaving = 0;
  #underWay = 0;
  #used = false;
  #healed = false;
  #over = false;
  readonly #asked = new Set<string>();
  #begun = 0;
  #made = 0;
  #refused = 0;

  constructor(world: MembersWorld) {
    this.#world = world;
    const healed = (): boolean => this.#healed;
    this.#operator = new Operator(world.runtime, {
      servers: () => world.clientAddresses(),
      get impatient() {
        return healed();
      },
    });
    for (const { id, begun } of world.servers.values()) if (begun) this.#known.set(id, 'voter');
  }

  /** Something was asked of the operator. */
  get used(): boolean {
    return this.#used;
  }

  add(server: number, how: AddOptions): Promise<void> {
    return this.#follow(this.#add(server, how));
  }

  promote(server: number): Promise<void> {
    return this.#follow(this.#promote(server));
  }

  remove(server: number | typeof LEADER): Promise<void> {
    return this.#follow(this.#inTurn(() => this.#remove(server)));
  }

  /** Of whoever that is when it is looked: one that was meant may have been removed while it waited. */
  loseDisk(server: number | (() => number)): Promise<void> {
    const whose = typeof server === 'number' ? (): number => server : server;
    return this.#follow(this.#inTurn(() => this.#loseDisk(whose)));
  }

  /** Whether everybody who leaves has left, and a majority decides and has everything without what this server's log has. */
  mayDamage(server: number): boolean {
    return this.#leaving === 0 && this.#hasDisk(server) && this.#majorityWithout(server);
  }

  /** Asked for once, under whatever goes on. */
  async transfer(server: number): Promise<void> {
    let asked = false;
    try {
      const refusal = await this.#operator.ask(async (client) => {
        // What was to be disturbed is over.
        if (this.#healed) return;
        asked = true;
        this.#world.transferring();
        await client.admin.transferLeadership(server, { timeoutMs: COMMAND_TIMEOUT_MS });
      });
      if (asked && refusal === undefined) this.#world.count('leadership-transferred');
    } catch (error) {
      this.#world.fail('no-unexpected-error', `the operator: ${String(error)}`);
    }
  }

  /** Everything can be reached: joined servers start, disks are lost no more, and learners that fell behind are promoted. */
  heal(): void {
    this.#healed = true;
    if (!this.#used) return;
    for (const id of this.#known.keys()) this.#server(id)?.begin();
    void this.#follow(this.#promoteLearners());
  }

  /** The run is over: the operator gives up whatever is under way. */
  close(): void {
    this.#over = true;
  }

  /** Every command has ended, all learners vote, and the processes that run are those of the members. */
  get stable(): boolean {
    return this.#underWay === 0 && this.#learners().length === 0 && this.#strayed().length === 0;
  }

  describe(): string {
    const strayed = this.#strayed().map(({ id, begun, expelled }) => JSON.stringify({ id, begun, expelled }));
    const asked = [...this.#asked].join(', ') || 'none';
    return `commands under way: ${asked}; learners ${this.#learners().join(', ')}; astray ${strayed.join(', ')}; members ${JSON.stringify(this.#world.members.map(({ id, role }) => [id, role]))}`;
  }

  get counts(): MemberCounts {
    const servers = [...this.#world.servers.values()];
    return {
      changesBegun: this.#begun,
      changesMade: this.#made,
      changesRefused: this.#refused,
      serversJoined: this.#world.members.filter(({ id }) => id > this.#world.founders).length,
      serversRemoved: servers.filter(({ expelled, diskLost }) => expelled && !diskLost).length,
    };
  }

  /** How the members differ from what the operator knows; undefined when they do not. */
  difference(): string | undefined {
    const certain = (id: number): boolean => !this.#uncertain.has(id) || this.#known.get(id) === 'gone';
    const show = (all: Iterable<readonly [number, string]>): string =>
      [...all]
        .flatMap(([id, role]) => (certain(id) && role !== 'gone' ? `${id} ${role}` : []))
        .toSorted()
        .join(', ');
    const wanted = show(this.#known);
    const found = show(this.#world.members.map(({ id, role }) => [id, role] as const));
    return wanted === found ? undefined : `the operator knows ${wanted}; the members are ${found}`;
  }

  /** Runs to its end, whatever it is; the world's events drive it. */
  #follow(work: Promise<void>): Promise<void> {
    this.#used = true;
    this.#underWay += 1;
    this.#world.changing(1);
    return work
      .catch((error: unknown) => this.#world.fail('no-unexpected-error', `the operator: ${String(error)}`))
      .finally(() => {
        this.#underWay -= 1;
        this.#world.changing(-1);
      });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#leaving += 1;
    this.#removals = this.#removals.then(work).finally(() => (this.#leaving -= 1));
    return this.#removals;
  }

  async #add(server: number, { observer, startAfterMs }: AddOptions): Promise<void> {
    const host = this.#server(server);
    if (startAfterMs === 0) host?.begin();
    else this.#world.after(startAfterMs, () => host?.begin());
    const joinSecret = await this.#joinSecretOf(host);
    const made = await this.#ask('add', 'member-added', server, (client) =>
      client.admin.addMember(server, this.#world.peerAddress(server), {
        observer,
        joinSecret,
        timeoutMs: COMMAND_TIMEOUT_MS,
      }),
    );
    // Answers may overtake each other: who was promoted meanwhile, or removed, has been added before.
    if (made && !this.#known.has(server)) this.#known.set(server, observer ? 'observer' : 'voter');
    if (made && this.#healed) host?.begin();
  }

  /** As the server prints it; one whose number is used up prints none. */
  async #joinSecretOf(host: ChangingServer | undefined): Promise<string> {
    while (host?.mayWait === true && !this.#known.has(host.id) && !this.#over) {
      if (host.joinSecret !== undefined) return host.joinSecret;
      await this.#operator.pause();
    }
    return 'of nobody';
  }

  async #promote(server: number): Promise<void> {
    const made = await this.#ask('promote', 'member-promoted', server, (client) =>
      client.admin.promoteMember(server, { timeoutMs: COMMAND_TIMEOUT_MS }),
    );
    if (made && this.#known.get(server) !== 'gone') this.#known.set(server, 'voter');
  }

  async #remove(whom: number | typeof LEADER): Promise<void> {
    const server = whom === LEADER ? this.#world.leader : whom;
    if (server === undefined) return;
    this.#world.removing(server);
    const made = await this.#ask(
      'remove',
      'member-removed',
      server,
      (client) => client.admin.removeMember(server, { timeoutMs: COMMAND_TIMEOUT_MS }),
      () => this.#mayGoOnWithout(server),
    );
    if (made) this.#known.set(server, 'gone');
  }

  async #loseDisk(whose: () => number): Promise<void> {
    while (!this.#healed && !this.#over) {
      const server = whose();
      const host = this.#server(server);
      if (host !== undefined && this.#mayLoseDisk(host)) {
        this.#world.losingDisk(server);
        const lost = host.loseDisk();
        if (lost !== undefined) await lost;
        this.#world.count('disk-lost');
        return;
      }
      await this.#operator.pause(LOOK_AGAIN_MS);
    }
  }

  /** Learners become voters by themselves, unless they were too slow while there were faults. */
  async #promoteLearners(): Promise<void> {
    while (this.#underWay > 1 && !this.#over) await this.#operator.pause();
    for (let ids = this.#learners(); ids.length > 0 && !this.#over; ids = this.#learners()) {
      await this.#operator.pause();
      for (const id of ids) await this.#promote(id);
    }
  }

  async #ask(
    what: string,
    effect: Effect,
    server: number,
    command: (client: Client) => Promise<Members>,
    mayAsk = () => true,
  ): Promise<boolean> {
    this.#begun += 1;
    this.#asked.add(`${what} ${server}`);
    const { made, uncertain } = await this.#operator.carryOut(command, () => !this.#over && mayAsk());
    this.#asked.delete(`${what} ${server}`);
    if (made) {
      this.#made += 1;
      this.#world.count(effect);
    } else this.#refused += 1;
    if (uncertain) this.#uncertain.add(server);
    return made;
  }

  /** A majority of the voters that are left has its disk; and clients that know the first servers only find one of them. */
  #mayGoOnWithout(server: number): boolean {
    const left = this.#members().filter(({ id }) => id !== server);
    const voters = left.filter(({ role }) => role === 'voter' || role === 'learner').map(({ id }) => id);
    const founder =
      !this.#world.founderMustStay || left.some(({ id }) => id <= this.#world.founders && this.#hasDisk(id));
    return founder && isMajority(voters, (id) => this.#hasDisk(id));
  }

  /** Everybody else knows its data directory, so that it will be refused; and a majority keeps its disk. */
  #mayLoseDisk({ id }: ChangingServer): boolean {
    const others = this.#members().filter((member) => member.id !== id && this.#hasDisk(member.id));
    if (!this.#members().some((member) => member.id === id) || !this.#mayGoOnWithout(id)) return false;
    if (!this.#majorityWithout(id)) return false;
    return this.#world.directoryIsKnown(
      id,
      others.map((other) => other.id),
    );
  }

  /** Most of those who vote now have their disks, without it; false for one that is no member. */
  #majorityWithout(server: number): boolean {
    const members = this.#members();
    const voters = members.flatMap(({ id, role }) => (role === 'voter' ? id : []));
    return members.some(({ id }) => id === server) && isMajority(voters, (id) => id !== server && this.#hasDisk(id));
  }

  #hasDisk(id: number): boolean {
    const server = this.#server(id);
    return server !== undefined && !server.diskLost && !server.damaged;
  }

  /** Members run, and who is none has ended, or waits to be added. */
  #strayed(): ChangingServer[] {
    const members = this.#presentMembers();
    return [...this.#world.servers.values()].filter((server) => {
      if (!server.begun) return false;
      if (members.has(server.id)) return !server.serves;
      const waits = this.#known.get(server.id) === undefined || this.#world.hasNoLog(server.id);
      return !server.expelled && !waits && !this.#mayNotLearn(server);
    });
  }

  /**
   * On an empty disk it knows the founders only, and believes most of them that it has lost something: when these are gone it goes on
   * without a log, let in by nobody.
   */
  #mayNotLearn({ id, diskLost }: ChangingServer): boolean {
    const founders = Array.from({ length: this.#world.founders }, (_, n) => n + 1);
    const left = this.#presentMembers();
    return diskLost && !isMajority(founders, (founder) => founder !== id && left.has(founder));
  }

  #learners(): number[] {
    return this.#members().flatMap(({ id, role }) => (role === 'learner' ? [id] : []));
  }

  /** Of those, the ones that have their disks. */
  #presentMembers(): ReadonlySet<number> {
    return new Set(this.#members().flatMap(({ id }) => (this.#server(id)?.diskLost === false ? id : [])));
  }

  /** Without those that the operator has removed: what servers say of themselves may be older than that. */
  #members(): MembersWorld['members'] {
    return this.#world.members.filter(({ id }) => this.#known.get(id) !== 'gone');
  }

  #server(id: number): ChangingServer | undefined {
    return this.#world.servers.get(serverHost(id));
  }
}
