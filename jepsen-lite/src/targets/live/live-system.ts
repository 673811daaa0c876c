/**
 * What a live run is made of, and how its parts hear of each other: servers, store and clients on their hosts, strangers, what changes
 * versions, and what can be inflicted on all of them. How a run goes on is no affair of theirs (live-target.ts).
 */

import { join } from 'node:path';
import { answersOk, bundledEntry, programEntry } from '@holdfast/ensemble';
import type { HistoryEventBody } from '../../history/history.ts';
import type { Capabilities } from '../../nemeses/target.ts';
import { anyNeeds } from '../../nemeses/index.ts';
import { serverHost, serverIds, STORE_HOST } from '../../plan/plan.ts';
import { joiningIds, type Scenario } from '../../scenario/scenario.ts';
import type { EffectCounts } from '../effects.ts';
import { LeadershipRecord } from '../events.ts';
import { Holds } from '../holds.ts';
import { capabilitiesOf, type Struck } from './capability-list.ts';
import { ClientHost } from './clients/client-host.ts';
import { Holders } from './clients/holders.ts';
import { LiveHistory } from './clients/live-history.ts';
import type { Hardware } from './hardware/hardware.ts';
import { VISITOR } from './members/observer-visits.ts';
import { LiveServers } from './members/live-servers.ts';
import type { LiveNetwork } from './network/live-network.ts';
import { Forgetting } from './processes/forgetting.ts';
import { Machine, type MachineOptions, type Running } from './processes/machine.ts';
import { normalPriority } from './processes/priority.ts';
import { CLIENT_PORT, inside, launchStore, logFile, PEER_PORT, STORE_PORT } from './processes/programs.ts';
import { LiveReplicas } from './replicas/live-replicas.ts';
import { LiveStrangers } from './strangers/live-strangers.ts';
import { olderBuild } from './versions/older-build.ts';
import { ServerVersions, type ServerProgram } from './versions/server-versions.ts';
import { VersionChanges } from './versions/version-changes.ts';

export interface LiveSystemOptions {
  readonly scenario: Scenario;
  readonly network: LiveNetwork;
  readonly directory: string;
  readonly hardware: Hardware;
  /** Of its hardware, too. */
  readonly effects: EffectCounts;
  /** For servers, store and clients: planted bugs. @default nothing */
  readonly environment?: NodeJS.ProcessEnv;
}

/** What the parts ask of the run that they are in. */
export interface RunHooks {
  /** When the history begins, by the clock that all processes share. */
  readonly originNs: bigint;
  /** Unless the run has failed by then. */
  readonly after: (ms: number, action: () => void) => void;
  readonly runUntil: (condition: () => boolean, maxMs: number) => Promise<boolean>;
  readonly fail: (name: string, message: string) => void;
  readonly failed: (error: unknown) => void;
}

export class LiveSystem {
  readonly history: LiveHistory;
  readonly holds = new Holds();
  readonly holders = new Holders();
  readonly servers: LiveServers;
  readonly store: Machine;
  readonly replicas: LiveReplicas;
  readonly clients: ReadonlyMap<string, { readonly machine: Machine; readonly client: ClientHost }>;
  readonly strangers: LiveStrangers;
  /** Undefined: all servers are of one version. */
  readonly upgrade: VersionChanges | undefined;
  readonly capabilities: Partial<Capabilities>;
  readonly #options: LiveSystemOptions;
  readonly #run: RunHooks;

  constructor(options: LiveSystemOptions, run: RunHooks) {
    this.#options = options;
    this.#run = run;
    this.history = new LiveHistory(run.originNs);
    const { scenario, network, directory, hardware, effects, environment = {} } = options;
    const { after, fail, failed, originNs } = run;
    const isMixed = anyNeeds(scenario.faults, 'versions');
    const older = isMixed ? olderBuild(scenario.olderLockd, join(directory, 'logs', 'older')) : undefined;
    // What is planted is planted in the files of the program.
    const newer = Object.keys(environment).length === 0 ? bundledEntry('lockd') : programEntry('lockd');
    const versions = new ServerVersions(serverIds(scenario).map(serverHost), older, newer);
    const programOf = (host: string): ServerProgram => versions.programOf(host);
    const programs = { plan: scenario, network, directory, hardware, environment, programOf };
    const leadership = new LeadershipRecord((host, event) => this.history.add(host, process.hrtime.bigint(), event));
    this.servers = new LiveServers({
      scenario,
      programs,
      machine: (...how) => this.#machine(...how),
      leads: (host, term) => {
        leadership.saw(host, term);
        this.upgrade?.look(host);
        this.strangers.sawTerm(host, this.servers.scraper.latest.get(host)?.term ?? 0);
      },
      changed: () => this.#tellServers(),
      record: (event) => this.history.add(VISITOR, process.hrtime.bigint(), event),
      portTaken: (host) => this.strangers.hasPort(host),
      after,
      count: (effect) => effects.count(effect),
      fail,
      failed,
    });
    this.strangers = new LiveStrangers({
      ids: [...serverIds(scenario), ...joiningIds(scenario)],
      clientAddress: (host) => network.address(host, CLIENT_PORT),
      peerAddress: (host) => network.address(host, PEER_PORT),
      inside: (host) => [...network.inside(host), ...normalPriority()],
      standIn: (host) => this.servers.standIn(host),
      machineOn: (host) => this.on(host),
      logFile: (host) => logFile(directory, host),
      count: (effect, times) => effects.count(effect, times),
      after,
      fail,
    });
    if (older !== undefined) {
      this.upgrade = new VersionChanges({
        versions,
        older,
        servers: this.servers.all,
        scraper: this.servers.scraper,
        runUntil: run.runUntil,
        changed: () => effects.count('version-changed'),
        fail,
      });
    }
    const storeAddress = network.address(STORE_HOST, STORE_PORT);
    const storeServes = async (): Promise<boolean> => await answersOk(storeAddress, '/health');
    this.store = this.#machine(STORE_HOST, () => launchStore(programs), storeServes);
    this.replicas = new LiveReplicas({
      plan: scenario,
      programs,
      servers: () => this.servers.members.clientAddresses,
      machine: (...how) => this.#machine(...how),
    });
    const { seed, locks } = scenario;
    const replicas = [...this.replicas.addresses.values()];
    const order = { seed, locks, store: storeAddress, replicas, originNs: `${originNs}` };
    this.clients = new Map(
      scenario.clients.map((plan, number) => {
        const client = new ClientHost({
          plan,
          number,
          order,
          servers: () => this.servers.members.clientAddresses,
          inside: () => inside(programs, plan.name),
          environment: network.environment(plan.name, { ...process.env, ...environment }),
          directory,
          heard: (who, at, event) => this.#heard(plan.name, who, at, event),
          unexpected: (error) => fail('no-unexpected-error', error),
        });
        const serves = async (): Promise<boolean> => await Promise.resolve(true);
        return [plan.name, { client, machine: this.#machine(plan.name, () => client.launch(), serves) }] as const;
      }),
    );
    const { members } = this.servers;
    const struck: Struck = {
      directory,
      network,
      hardware,
      programs,
      forgetting: new Forgetting({
        scraper: this.servers.scraper,
        isUp: (host) => this.on(host).up,
        runUntil: run.runUntil,
      }),
      members,
      strangers: this.strangers,
      upgrade: this.upgrade,
      effects,
      holds: this.holds,
      machineOn: (host) => this.on(host),
      after,
      fail,
      failed,
    };
    this.capabilities = capabilitiesOf(struck);
  }

  get clientHosts(): readonly ClientHost[] {
    return [...this.clients.values()].map(({ client }) => client);
  }

  get machines(): readonly Machine[] {
    const { machines } = this.replicas;
    return [
      ...this.servers.machines,
      this.store,
      ...machines,
      ...[...this.clients.values()].map(({ machine }) => machine),
    ];
  }

  on(host: string): Machine {
    const found = this.machines.find((machine) => machine.host === host);
    if (found === undefined) throw new TypeError(`there is no host ${host}`);
    return found;
  }

  #machine(
    host: string,
    launch: () => Running,
    serves: () => Promise<boolean>,
    rules: Pick<MachineOptions, 'mayStart' | 'leaves'> = {},
  ): Machine {
    return new Machine({
      host,
      ...rules,
      launch: () => {
        const running = launch();
        this.#fakeClock(host, running);
        return running;
      },
      serves,
      effect: (effect) => this.#options.effects.count(effect),
      down: () => {
        this.servers.scraper.down(host);
        this.holders.died(host);
        this.strangers.down(host);
      },
      failed: this.#run.fail,
    });
  }

  /** One that is killed before libfaketime has begun in it needs none. */
  #fakeClock(host: string, { pid, exited }: Running): void {
    const clock = this.#options.hardware.clocks.get(host);
    if (clock === undefined || pid === undefined) return;
    let ended = false;
    void exited.then(() => (ended = true));
    clock.started(pid).catch((error: unknown) => {
      if (!ended) this.#run.failed(error);
    });
  }

  #heard(client: string, who: string, at: bigint, event: HistoryEventBody): void {
    this.history.add(who, at, event);
    this.holders.heed(client, event);
  }

  #tellServers(): void {
    for (const { client } of this.clients.values()) client.tellServers();
  }
}
