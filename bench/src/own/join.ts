/**
 * Acquires at a steady pace while servers take snapshots of a large state, while a server joins that has nothing of it, and while one
 * comes back that was stopped for as much log. Each step is measured by itself, and told as times of the acquires meanwhile.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { connect, type Client } from '@holdfast/client';
import {
  GuardedProcess,
  clientAddress,
  peerAddress,
  programEntry,
  waitUntil,
  type LocalEnsemble,
} from '@holdfast/ensemble';

import { machineTime, secondsOfOthers, type MachineTime } from '../machine/processor-time.ts';
import { LargeState } from './large-state.ts';
import { PacedAcquires, type AcquireTimes } from './paced-acquires.ts';

export interface JoinStep extends AcquireTimes {
  readonly name: string;
  /** What processes took meanwhile that are no part of the measurement; undefined where the system does not tell. */
  readonly otherCores: number | undefined;
}

export interface JoinOptions {
  readonly stateBytes: number;
  readonly quietMs: number;
  /** How long a step may take. */
  readonly stepLimitMs: number;
}

/** Servers that join get the number after those that the ensemble began with. */
const JOINING = 4;
const POLL_MS = 50;
const CALM_MS = 1_000;
const MAX_QUIET_STEPS = 3;
/** Of overwriting after which every server has begun a snapshot, whatever its settings are. */
const MAX_LOG_TO_A_SNAPSHOT_BYTES = 512 * 1024 * 1024;

type Phase = 'starting' | 'transfer' | 'install' | 'catch-up' | 'done';

export class JoinTrial {
  readonly #ensemble: LocalEnsemble;
  readonly #options: JoinOptions;
  readonly #state: LargeState;
  readonly #acquires: PacedAcquires;
  readonly #operator: Client;
  readonly #report: (step: JoinStep) => void;
  #joined: GuardedProcess | undefined;

  private constructor(
    ensemble: LocalEnsemble,
    options: JoinOptions,
    parts: { readonly acquires: PacedAcquires; readonly operator: Client },
    report: (step: JoinStep) => void,
  ) {
    this.#ensemble = ensemble;
    this.#options = options;
    this.#acquires = parts.acquires;
    this.#operator = parts.operator;
    this.#state = new LargeState(ensemble.clientAddresses, options.stateBytes);
    this.#report = report;
  }

  static async begin(
    ensemble: LocalEnsemble,
    options: JoinOptions,
    report: (step: JoinStep) => void,
  ): Promise<JoinTrial> {
    const servers = ensemble.clientAddresses;
    const operator = await connect({ servers });
    return new JoinTrial(ensemble, options, { operator, acquires: await PacedAcquires.start(servers) }, report);
  }

  async fill(): Promise<void> {
    await this.#state.create();
    await this.#until('the last snapshots', async () => this.#snapshotsUnderWay([1, 2, 3]) === 0);
  }

  /** The acquires themselves fill the log: a snapshot that begins meanwhile is something else, and the step is taken again. */
  async quiet(): Promise<void> {
    const { quietMs } = this.#options;
    let step: JoinStep;
    let isQuiet = false;
    let left = MAX_QUIET_STEPS;
    do {
      await this.#calm();
      await this.#until('the last snapshots', async () => this.#snapshotsUnderWay([1, 2, 3]) === 0);
      step = await this.#measure('nothing else', async () => {
        const untilMs = performance.now() + quietMs;
        isQuiet = true;
        while (performance.now() < untilMs) {
          await new Promise((resolve) => setTimeout(resolve, POLL_MS));
          isQuiet &&= this.#snapshotsUnderWay([1, 2, 3]) === 0;
        }
      });
      left -= 1;
    } while (!isQuiet && left > 0);
    this.#report(step);
  }

  /** All servers at once, as they do: they apply the same log. */
  async snapshots(): Promise<void> {
    const begun = (): boolean => this.#snapshotsUnderWay([1, 2, 3]) > 0;
    this.#acquires.pause();
    await this.#state.overwrite(MAX_LOG_TO_A_SNAPSHOT_BYTES, begun);
    await this.#calm();
    await this.#step('all servers take a snapshot', () =>
      this.#until('the snapshots', async () => this.#snapshotsUnderWay([1, 2, 3]) === 0),
    );
  }

  async join(): Promise<void> {
    const address = peerAddress(this.#ensemble.basePort, JOINING);
    this.#launch();
    await this.#until('the joining server', async () => (await this.#appliedBy(JOINING)) !== undefined);
    await this.#calm();
    await this.#operator.admin.addMember(JOINING, address, { joinSecret: this.#joinSecret() });
    const votes = async (): Promise<boolean> => {
      const { members } = await this.#operator.admin.members();
      return members.some(({ server, role }) => server === JOINING && role === 'voter');
    };
    await this.#phases('a server joins', (await this.#commitIndex()) ?? 0, votes);
  }

  /** Of a server that was stopped while as much was written as the state has. */
  async stopBehind(): Promise<void> {
    this.#acquires.pause();
    await this.#joined?.stop(10_000);
    await this.#state.overwrite(this.#options.stateBytes);
    await this.#until('the last snapshots', async () => this.#snapshotsUnderWay([1, 2, 3]) === 0);
  }

  async comeBack(): Promise<void> {
    const target = (await this.#commitIndex()) ?? 0;
    await this.#calm();
    this.#launch();
    const level = async (): Promise<boolean> => ((await this.#appliedBy(JOINING)) ?? 0) >= target;
    await this.#phases('a server comes back', target, level);
  }

  /** The first bytes of the first and the last node, as the server that joined has them. */
  async stateOfJoined(): Promise<{ readonly first: string; readonly last: string }> {
    const client = await connect({
      servers: [clientAddress(this.#ensemble.basePort, JOINING)],
      preferLeader: false,
    });
    try {
      const [first = '', last = ''] = await this.#state.ends(client);
      return { first, last };
    } finally {
      await client.close();
    }
  }

  async end(): Promise<void> {
    await this.#acquires.stop();
    await this.#operator.close();
    await this.#joined?.stop(10_000);
  }

  /** As the server has printed it. */
  #joinSecret(): string {
    const said = readFileSync(this.#ensemble.directory.logFile(`server-${JOINING}`), 'utf8');
    const secret = [...said.matchAll(/--join-secret ([0-9a-f]+)/g)].at(-1)?.[1];
    if (secret === undefined) throw new Error('the joining server has not printed its join secret');
    return secret;
  }

  #launch(): void {
    const { directory, basePort } = this.#ensemble;
    const flags = {
      id: `${JOINING}`,
      'cluster-id': 'local',
      client: clientAddress(basePort, JOINING),
      peer: peerAddress(basePort, JOINING),
      data: directory.server(JOINING),
    };
    this.#joined = GuardedProcess.start({
      entry: programEntry('lockd'),
      args: [...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]), '--join'],
      logFile: directory.logFile(`server-${JOINING}`),
    });
  }

  /** One step for each phase that a server goes through until it is `done`. */
  async #phases(what: string, target: number, done: () => Promise<boolean>): Promise<void> {
    const phaseAfter = async (present: Phase): Promise<Phase> =>
      (await done()) ? 'done' : await this.#phaseOf(target, present);
    for (let phase: Phase = 'starting'; phase !== 'done';) {
      const present: Phase = phase;
      const name = `${what}: ${present}`;
      const step: { next: Phase } = { next: present };
      await this.#step(name, () =>
        this.#until(name, async () => {
          step.next = await phaseAfter(present);
          return step.next !== present;
        }),
      );
      phase = step.next;
    }
  }

  async #phaseOf(target: number, present: Phase): Promise<Phase> {
    if (this.#snapshotsUnderWay([JOINING]) > 0) return 'transfer';
    if (present === 'transfer') return 'install';
    if (present === 'install' && ((await this.#appliedBy(JOINING)) ?? 0) < target / 2) return 'install';
    return present === 'install' ? 'catch-up' : present;
  }

  /** What an earlier step has left undone is not the next one's. */
  async #calm(): Promise<void> {
    this.#acquires.pause();
    await new Promise((resolve) => setTimeout(resolve, CALM_MS));
  }

  async #step(name: string, during: () => Promise<unknown>): Promise<void> {
    this.#report(await this.#measure(name, during));
  }

  async #measure(name: string, during: () => Promise<unknown>): Promise<JoinStep> {
    const before = timeOfMachine();
    this.#acquires.begin();
    await during();
    const times = this.#acquires.read();
    const after = timeOfMachine();
    const servers = this.#ensemble.servers.map((id) => this.#ensemble.pid(id));
    const own = new Set([process.pid, this.#joined?.pid, ...servers].filter((pid) => pid !== undefined));
    const known = before !== undefined && after !== undefined;
    return { name, ...times, otherCores: known ? secondsOfOthers(before, after, own) / times.seconds : undefined };
  }

  async #until(what: string, reached: () => Promise<boolean>): Promise<void> {
    const { stepLimitMs } = this.#options;
    const outcome = await waitUntil(async () => {
      this.#acquires.check();
      if (await reached()) return true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      return undefined;
    }, stepLimitMs);
    if (outcome === undefined) throw new Error(`${what}: not over within ${stepLimitMs} ms`);
  }

  async #appliedBy(id: number): Promise<number | undefined> {
    try {
      const response = await fetch(`http://${clientAddress(this.#ensemble.basePort, id)}/status`);
      return ((await response.json()) as { readonly appliedIndex: number }).appliedIndex;
    } catch {
      return undefined;
    }
  }

  async #commitIndex(): Promise<number | undefined> {
    return (await this.#ensemble.status(await this.#ensemble.waitForLeader()))?.commitIndex;
  }

  /** Being written, by how many of those: their own ones or ones that they are sent. */
  #snapshotsUnderWay(ids: readonly number[]): number {
    return ids.filter((id) => {
      const log = join(this.#ensemble.directory.server(id), 'group-0');
      return existsSync(log) && readdirSync(log).some((name) => name.endsWith('.snapshot.tmp'));
    }).length;
  }
}

function timeOfMachine(): MachineTime | undefined {
  return process.platform === 'linux' ? machineTime() : undefined;
}
