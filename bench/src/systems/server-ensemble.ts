/** What all systems have in common: some server processes, started together, of which one leads. */

import type { SystemName } from '../generator/systems.ts';
import type { ServerProcess } from './server-process.ts';
import type { Progress, RunningSystem } from './system.ts';

const READY_TIMEOUT_MS = 60_000;
const LEADER_TIMEOUT_MS = 30_000;

export interface EnsembleOptions {
  readonly name: SystemName;
  readonly addresses: readonly string[];
  readonly processes: readonly ServerProcess[];
  /** Whether the server at that address takes requests. */
  serves(address: string): Promise<boolean>;
  leads(address: string): Promise<boolean>;
  progress(addresses: readonly string[]): Promise<Progress>;
}

export class ServerEnsemble implements RunningSystem {
  readonly #options: EnsembleOptions;

  private constructor(options: EnsembleOptions) {
    this.#options = options;
  }

  static async start(options: EnsembleOptions): Promise<ServerEnsemble> {
    const ensemble = new ServerEnsemble(options);
    for (const process of options.processes) process.launch();
    try {
      await Promise.all(
        options.processes.map((process, n) => process.waitUntil(() => ensemble.serves(n), READY_TIMEOUT_MS)),
      );
      return ensemble;
    } catch (error) {
      await ensemble.stop();
      throw error;
    }
  }

  get name(): SystemName {
    return this.#options.name;
  }

  get addresses(): readonly string[] {
    return this.#options.addresses;
  }

  pids(): number[] {
    return this.#options.processes.map(({ pid }) => pid).filter((pid) => pid !== 0);
  }

  pid(server: number): number {
    return this.#process(server).pid;
  }

  async leader(): Promise<number> {
    const deadline = performance.now() + LEADER_TIMEOUT_MS;
    while (performance.now() < deadline) {
      for (const [server, address] of this.addresses.entries()) {
        if (this.#process(server).running && (await this.#options.leads(address))) return server;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${this.name} has no leader`);
  }

  async progress(): Promise<Progress> {
    return await this.#options.progress(this.addresses);
  }

  async stopServer(server: number): Promise<void> {
    await this.#process(server).stop();
  }

  launchServer(server: number): void {
    this.#process(server).launch();
  }

  async serves(server: number): Promise<boolean> {
    return await this.#options.serves(this.addresses[server] ?? '');
  }

  async noteKilled(server: number): Promise<void> {
    await this.#process(server).gone();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#options.processes.map((process) => process.stop()));
  }

  #process(server: number): ServerProcess {
    const process = this.#options.processes[server];
    if (process === undefined) throw new RangeError(`${this.name} has no server ${server}`);
    return process;
  }
}
