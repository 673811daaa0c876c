/**
 * An ensemble on this machine: lockd servers and, if asked for, a fenced store, each a child process that never outlives this one.
 * Servers can be killed, paused, resumed and restarted by id. One that dies by itself is reported and not restarted.
 */

import { nodeRuntime } from '@holdfast/runtime/node';

import { clientAddress, DEFAULT_BASE_PORT, fencedKvAddress, peerAddress, serverIds } from './addresses.ts';
import { EnsembleDirectory } from './data-directory.ts';
import { EnsembleError } from './ensemble-error.ts';
import { addressesInUse, freeBasePortAbove } from './free-ports.ts';
import { exitAdvice, logTail } from './exit-advice.ts';
import { GuardedProcess, type ProcessExit } from './guarded-process.ts';
import { describeTaken, portOwners } from './port-owners.ts';
import { bundledEntry, type Program } from './programs.ts';
import { answersOk, fetchStatus, type ServerStatus } from './server-status.ts';
import { waitUntil } from './wait-until.ts';

export interface LocalEnsembleOptions {
  readonly dataDirectory: string;
  /** @default 3 */
  readonly servers?: number;
  /** Clients of server n at `basePort + n`, peers at `basePort + 100 + n`, the store at `basePort + 300`. @default 7100 */
  readonly basePort?: number;
  /** Whether a fenced store is started too. @default true */
  readonly fencedKv?: boolean;
  /** Deletes what an earlier ensemble left in the directory. @default false */
  readonly fresh?: boolean;
  /** @default 'local' */
  readonly clusterId?: string;
  /** Added to each server's command line. */
  readonly serverArgs?: readonly string[];
  /** How long all may take to be ready. @default 30_000 */
  readonly readyTimeoutMs?: number;
  /** How long one may take to stop before it is killed. @default 10_000 */
  readonly stopTimeoutMs?: number;
  /** Aborting it while the ensemble starts stops whatever has been started, and rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Called for a process that ended without being asked to. */
  onUnexpectedExit?(report: ExitReport): void;
  /** Called with the paths that `fresh` deleted. */
  onCleared?(paths: readonly string[]): void;
}

export interface ExitReport {
  /** "lockd 2" or "fenced-kvd". */
  readonly name: string;
  readonly exit: ProcessExit;
  /** What the exit means. */
  readonly advice: string;
  readonly logFile: string;
}

interface Member {
  readonly name: string;
  readonly address: string;
  readonly readyPath: string;
  readonly logFile: string;
  readonly program: Program;
  readonly args: readonly string[];
  process: GuardedProcess | undefined;
  /** Set while its end is what we asked for. */
  ending: boolean;
}

const FENCED_KV = 'fenced-kvd';

export class LocalEnsemble {
  readonly servers: readonly number[];
  readonly basePort: number;
  readonly directory: EnsembleDirectory;
  readonly #options: LocalEnsembleOptions;
  readonly #members: ReadonlyMap<number | typeof FENCED_KV, Member>;

  private constructor(options: LocalEnsembleOptions, directory: EnsembleDirectory) {
    this.#options = options;
    this.directory = directory;
    this.basePort = options.basePort ?? DEFAULT_BASE_PORT;
    this.servers = serverIds(options.servers ?? 3);
    const members = new Map<number | typeof FENCED_KV, Member>();
    for (const id of this.servers) members.set(id, this.#serverMember(id));
    if (options.fencedKv ?? true) members.set(FENCED_KV, this.#storeMember());
    this.#members = members;
  }

  /**
   * Resolves when every server takes sessions and the store answers. @throws EnsembleError, after having stopped whatever it started.
   */
  static async start(options: LocalEnsembleOptions): Promise<LocalEnsemble> {
    const directory = await EnsembleDirectory.open(options.dataDirectory, nodeRuntime().disk);
    let ensemble: LocalEnsemble | undefined;
    try {
      if (options.fresh === true) options.onCleared?.(directory.clear());
      ensemble = new LocalEnsemble(options, directory);
      const { basePort } = ensemble;
      const shape = { servers: ensemble.servers.length, basePort, clusterId: ensemble.#clusterId };
      const isBound = directory.hasDataOf(shape);
      // Asked here, since whatever else listens there might answer in a server's name; and before anything binds the directory to these ports.
      await ensemble.#refuseTakenPorts(isBound);
      directory.claim(shape);
      for (const member of ensemble.#members.values()) ensemble.#spawn(member);
      await ensemble.waitUntilReady();
      return ensemble;
    } catch (error) {
      await (ensemble === undefined ? directory.release() : ensemble.stop());
      throw error;
    }
  }

  /** Where clients connect, one address a server. */
  get clientAddresses(): string[] {
    return this.servers.map((id) => clientAddress(this.basePort, id));
  }

  get fencedKvUrl(): string {
    return `http://${fencedKvAddress(this.basePort)}`;
  }

  pid(id: number): number | undefined {
    return this.#server(id).process?.pid;
  }

  /** Undefined when the server does not answer. */
  async status(id: number): Promise<ServerStatus | undefined> {
    return await fetchStatus(this.#server(id).address);
  }

  /** The id of the server that says it leads, in the highest term; undefined when none does. */
  async leader(): Promise<number | undefined> {
    const running = this.servers.filter((id) => this.#server(id).process?.running === true);
    const statuses = await Promise.all(running.map((id) => this.status(id)));
    const leaders = statuses.filter((status) => status?.role === 'leader').map((status) => status as ServerStatus);
    return leaders.toSorted((a, b) => b.term - a.term)[0]?.id;
  }

  /** @throws EnsembleError NOT_READY */
  async waitForLeader(timeoutMs = 10_000): Promise<number> {
    const leader = await waitUntil(() => this.leader(), timeoutMs);
    if (leader !== undefined) return leader;
    throw new EnsembleError(
      'NOT_READY',
      `no leader was elected within ${timeoutMs} ms; see ${this.directory.path}/logs`,
    );
  }

  /** Waits until every process that runs is ready. @throws EnsembleError */
  async waitUntilReady(): Promise<void> {
    const timeoutMs = this.#options.readyTimeoutMs ?? 30_000;
    const starting = [...this.#members.values()].filter((member) => member.process !== undefined && !member.ending);
    await Promise.all(starting.map((member) => this.#waitForMember(member, timeoutMs)));
  }

  /** SIGKILL, as a crash. Resolves when it is gone. */
  async kill(id: number): Promise<void> {
    const member = this.#server(id);
    member.ending = true;
    member.process?.kill();
    await member.process?.exited;
  }

  /** SIGTERM, as an operator's stop. Resolves when it has ended. */
  async stopServer(id: number): Promise<ProcessExit | undefined> {
    return await this.#end(this.#server(id));
  }

  pause(id: number): void {
    this.#server(id).process?.pause();
  }

  resume(id: number): void {
    this.#server(id).process?.resume();
  }

  /** Starts a server that has ended, on its data. Resolves when it is ready, which needs a majority. @throws EnsembleError */
  async restart(id: number): Promise<void> {
    this.launch(id);
    await this.#waitForMember(this.#server(id), this.#options.readyTimeoutMs ?? 30_000);
  }

  /** Starts a server that has ended, and does not wait. */
  launch(id: number): void {
    const member = this.#server(id);
    if (member.process?.running !== true) this.#spawn(member);
  }

  /**
   * Stops every process and gives up the directory. The leader comes last, when nobody is left who could lead instead. Safe to
   * call twice.
   */
  async stop(): Promise<void> {
    const leader = await this.leader();
    const last = leader === undefined ? undefined : this.#server(leader);
    const members = [...this.#members.values()];
    await Promise.all(members.filter((member) => member !== last).map((member) => this.#end(member)));
    if (last !== undefined) await this.#end(last);
    await this.directory.release();
  }

  /** SIGKILL for everything at once, as a power failure of the processes; the directory stays taken until `stop`. */
  async killAll(): Promise<void> {
    await Promise.all(this.servers.map((id) => this.kill(id)));
  }

  get #clusterId(): string {
    return this.#options.clusterId ?? 'local';
  }

  /** `isBound`: there is data, whose servers know each other by these ports. */
  async #refuseTakenPorts(isBound: boolean): Promise<void> {
    const taken = await addressesInUse(this.basePort, this.servers.length, this.#members.has(FENCED_KV));
    if (taken.length === 0) return;
    const which = describeTaken(taken, portOwners(taken.map((address) => Number(address.split(':').at(-1)))));
    const free = await freeBasePortAbove(this.basePort, this.servers.length);
    const ports = free === undefined ? 'choose another --base-port' : `choose other ports, as --base-port ${free}`;
    const other = isBound ? `${ports}, with another --data: the data that is there needs these ports` : ports;
    throw new EnsembleError('PORT_IN_USE', `${which}; stop what listens there (another ensemble?), or ${other}`);
  }

  #serverMember(id: number): Member {
    const address = clientAddress(this.basePort, id);
    const cluster = this.servers.map((peer) => `${peer}=${peerAddress(this.basePort, peer)}`).join(',');
    return {
      name: `lockd ${id}`,
      address,
      readyPath: '/ready',
      logFile: this.directory.logFile(`server-${id}`),
      program: 'lockd',
      args: [
        ...flags({
          id: `${id}`,
          'cluster-id': this.#clusterId,
          client: address,
          peer: peerAddress(this.basePort, id),
          data: this.directory.server(id),
          cluster,
        }),
        ...(this.#options.serverArgs ?? []),
      ],
      process: undefined,
      ending: false,
    };
  }

  #storeMember(): Member {
    const address = fencedKvAddress(this.basePort);
    return {
      name: FENCED_KV,
      address,
      readyPath: '/health',
      logFile: this.directory.logFile(FENCED_KV),
      program: FENCED_KV,
      args: flags({
        listen: address,
        data: this.directory.fencedKv,
        // Buckets may be bound to locks of this ensemble.
        ensemble: this.clientAddresses.join(','),
      }),
      process: undefined,
      ending: false,
    };
  }

  #server(id: number): Member {
    const member = this.#members.get(id);
    if (member === undefined)
      throw new RangeError(`this ensemble has no server ${id}, only ${this.servers.join(', ')}`);
    return member;
  }

  #spawn(member: Member): void {
    const { logFile, args } = member;
    const process = GuardedProcess.start({ entry: bundledEntry(member.program), args, logFile });
    member.process = process;
    member.ending = false;
    void process.exited.then((exit) => {
      if (member.ending || member.process !== process) return;
      this.#options.onUnexpectedExit?.({ name: member.name, exit, advice: exitAdvice(exit), logFile });
    });
  }

  async #end(member: Member): Promise<ProcessExit | undefined> {
    member.ending = true;
    return await member.process?.stop(this.#options.stopTimeoutMs ?? 10_000);
  }

  async #waitForMember(member: Member, timeoutMs: number): Promise<void> {
    const { process } = member;
    const outcome = await waitUntil(async () => {
      this.#options.signal?.throwIfAborted();
      if (process?.exit !== undefined) return process.exit;
      return (await answersOk(member.address, member.readyPath)) && process?.exit === undefined ? 'ready' : undefined;
    }, timeoutMs);
    if (outcome === 'ready') return;
    const log = `; the end of ${member.logFile}:\n${logTail(member.logFile)}`;
    if (outcome === undefined) {
      throw new EnsembleError('NOT_READY', `${member.name} was not ready within ${timeoutMs} ms${log}`);
    }
    throw new EnsembleError('SERVER_DIED', `${member.name} ended before it was ready, ${exitAdvice(outcome)}${log}`);
  }
}

function flags(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}
