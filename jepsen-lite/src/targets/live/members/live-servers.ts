/**
 * All servers of a live run, those that may join among them: how each is started, what they say of themselves, what their logs have held,
 * and what operators do about them.
 */

import { answersOk } from '@holdfast/ensemble';
import type { Effect } from '../../../nemeses/target.ts';
import { serverHost, serverIds } from '../../../plan/plan.ts';
import { joiningIds, type Scenario } from '../../../scenario/scenario.ts';
import { LogArchive } from '../oracle/log-archive.ts';
import type { Machine, MachineOptions, Running } from '../processes/machine.ts';
import {
  CLIENT_PORT,
  dataDirectory,
  launchServer,
  logFile,
  PEER_PORT,
  type ProgramOptions,
} from '../processes/programs.ts';
import { Scraper } from '../processes/scrape.ts';
import { LiveMembers, type LiveMembersOptions } from './live-members.ts';
import { LiveServer } from './live-server.ts';

export interface LiveServersOptions {
  readonly scenario: Scenario;
  readonly programs: ProgramOptions;
  readonly machine: (
    host: string,
    launch: () => Running,
    serves: () => Promise<boolean>,
    rules: Pick<MachineOptions, 'mayStart' | 'leaves'>,
  ) => Machine;
  /** Which term a server leads, if any: told again and again. */
  readonly leads: (host: string, term: number | undefined) => void;
  /** Somebody else has a server's port: it may not start. */
  readonly portTaken: (host: string) => boolean;
  /** Clients should know of other servers. */
  readonly changed: () => void;
  readonly after: (ms: number, action: () => void) => void;
  readonly count: (effect: Effect) => void;
  readonly record: LiveMembersOptions['record'];
  readonly fail: (name: string, message: string) => void;
  readonly failed: (error: unknown) => void;
}

export class LiveServers {
  /** By host. */
  readonly all: ReadonlyMap<string, LiveServer>;
  readonly scraper: Scraper;
  readonly archive: LogArchive;
  readonly members: LiveMembers;
  readonly #dataDirectories: ReadonlyMap<string, string>;

  constructor(options: LiveServersOptions) {
    const { scenario, programs, after, count, fail, failed } = options;
    const { network, directory } = programs;
    const ids = [...serverIds(scenario), ...joiningIds(scenario)];
    const hosts = ids.map(serverHost);
    const addresses = new Map(hosts.map((host) => [host, network.address(host, CLIENT_PORT)]));
    const addressOf = (host: string): string => addresses.get(host) ?? '';
    this.#dataDirectories = new Map(hosts.map((host) => [host, dataDirectory(programs, host)]));
    this.archive = new LogArchive(this.#dataDirectories, failed);
    this.scraper = new Scraper(
      addresses,
      (problem) => fail('servers-can-be-observed', problem),
      (host, term) => {
        options.leads(host, term);
        if (this.scraper.latest.get(host)?.voteBanned === false) this.all.get(host)?.machine.noteVotes();
      },
    );
    const serverOf = (id: number, host: string): LiveServer =>
      new LiveServer({
        id,
        joins: id > scenario.servers,
        logFile: logFile(directory, host),
        dataDirectory: this.#dataDirectories.get(host) ?? '',
        machine: (rules) => {
          const launch = (): Running => {
            this.archive.rewind(host);
            return launchServer(id, programs);
          };
          return options.machine(host, launch, async () => await answersOk(addressOf(host), '/live'), rules);
        },
        portTaken: () => options.portTaken(host),
        refused: () => count('lost-disk-refused'),
        changed: options.changed,
        failed,
      });
    this.all = new Map(ids.map((id) => [serverHost(id), serverOf(id, serverHost(id))]));
    this.members = new LiveMembers({
      founders: scenario.servers,
      servers: this.all,
      clientAddress: addressOf,
      peerAddress: (host) => network.address(host, PEER_PORT),
      scraper: this.scraper,
      after,
      count,
      fail,
      failed,
      record: options.record,
    });
  }

  get machines(): Machine[] {
    return [...this.all.values()].map(({ machine }) => machine);
  }

  /** Of every server that has run and has its disk, by host. */
  get dataDirectories(): ReadonlyMap<string, string> {
    const used = (host: string): boolean => {
      const server = this.all.get(host);
      return server !== undefined && server.machine.starts > 0 && !server.diskLost;
    };
    return new Map([...this.#dataDirectories].filter(([host]) => used(host)));
  }

  /** A host whose server leaves stands for one that stays, and is not `taken`: what strikes it would soon strike nobody. */
  standIn(host: string, taken: readonly string[] = []): string {
    const server = this.all.get(host);
    if (server === undefined || !(server.leaves || server.expelled)) return host;
    const stays = ({ begun, leaves, expelled }: LiveServer): boolean => begun && !leaves && !expelled;
    const left = [...this.all].flatMap(([each, other]) => (stays(other) && !taken.includes(each) ? each : []));
    return left[server.id % Math.max(1, left.length)] ?? host;
  }

  describe(): string[] {
    return [...this.all].flatMap(([host, { begun, expelled, machine }]) => {
      if (!begun) return [];
      const { up, paused } = machine;
      const status = this.scraper.latest.get(host);
      const what = expelled ? 'gone' : paused ? 'paused' : up ? 'up' : 'down';
      const said = status === undefined ? '' : ` ${status.role} of term ${status.term}, applied ${status.appliedIndex}`;
      return [`${host} ${what}${said}`];
    });
  }
}
