/**
 * A service with the real SDK in a process of its own, whose workers do what its plan says; all of it is recorded. When its session ends
 * it connects anew, as a restarted service would; when its host crashes, the next incarnation begins afresh and the open calls stay open.
 */

import { connect, type Client } from '@holdfast/client';
import type { Random, Runtime } from '@holdfast/runtime';
import type { ClientPlan } from '../plan/plan.ts';
import { Calls } from './calls.ts';
import { workloadsOf } from './index.ts';
import type { Group } from './replicas/group.ts';
import { maxPauseOf, type ApplicationWorld, type ClientSession, type Workload } from './workload.ts';

/** Long enough for the worst fail-over; shorter would end calls that a healed ensemble answers. */
const CONNECT_TIMEOUT_MS = 300_000;

export class Application {
  readonly plan: ClientPlan;
  readonly #start: () => Runtime;
  readonly #world: ApplicationWorld;
  readonly #random: Random;
  readonly #calls: Calls;
  readonly #workloads: readonly Workload[];
  /** Those whose steps are drawn, each as often as it has shares. */
  readonly #mix: readonly Workload[];
  #boots = 0;
  #client: Client | undefined;
  #rounds = 0;
  idle = true;

  /** `start` starts the machine, unless it runs, and gives what a process on it gets. */
  constructor(plan: ClientPlan, start: () => Runtime, world: ApplicationWorld, workloads = workloadsOf(plan)) {
    this.plan = plan;
    this.#start = start;
    this.#world = world;
    this.#random = world.random(`application/${plan.name}`);
    this.#calls = new Calls(plan.name, world);
    this.#workloads = workloads;
    const drawn = workloads.filter(({ step, dueInMs }) => step !== undefined && dueInMs === undefined);
    this.#mix = drawn.flatMap((workload) => Array.from({ length: workload.share ?? 1 }, () => workload));
  }

  /** Tasks that had what they came for; undefined when what it does has no such thing. */
  get rounds(): number | undefined {
    return this.#workloads.some(({ hasRounds }) => hasRounds === true) ? this.#rounds : undefined;
  }

  /** Starts the process. */
  boot(): void {
    const runtime = this.#start();
    this.#boots += 1;
    const boot = this.#boots;
    this.idle = false;
    this.#live(this.#observed(runtime))
      .catch((error: unknown) => this.#world.unexpected(this.plan.name, error))
      .finally(() => {
        if (boot === this.#boots) this.idle = true;
      });
  }

  /** What the host's end leaves: nobody speaks for it any more. */
  died(): void {
    this.#boots += 1;
    this.#client = undefined;
    this.idle = true;
    this.#calls.abandon();
  }

  /** Its session and what the SDK still does in the background. */
  describe(): string {
    const status = this.#client?.status();
    return `${this.plan.name}: ${status === undefined ? 'no client' : JSON.stringify({ ...status, members: undefined })}`;
  }

  #observed(runtime: Runtime): Runtime {
    const { clock, network, disk, logger, random } = runtime;
    const bytes = (length: number): Uint8Array => {
      const drawn = random.bytes(length);
      this.#world.drawn(this.plan.name, drawn);
      return drawn;
    };
    const observed = { next: () => random.next(), integer: (bound: number) => random.integer(bound), bytes };
    return { clock, network, disk, logger, random: observed };
  }

  async #live(runtime: Runtime): Promise<void> {
    let isRead = this.#workloads.every((workload) => workload.lastReading === undefined);
    while (this.#world.running() || !isRead) {
      const client = await connect(
        {
          servers: this.#world.servers(),
          sessionTimeoutMs: this.plan.sessionTimeoutMs,
          label: this.plan.name,
          connectTimeoutMs: CONNECT_TIMEOUT_MS,
        },
        runtime,
      );
      this.#client = client;
      const session = client.sessionId;
      this.#calls.record({ type: 'session', event: 'connected', session, timeoutMs: this.plan.sessionTimeoutMs });
      const group = this.#usesReplicas ? this.#world.group(client, runtime) : undefined;
      const use = this.#sessionOf(client, runtime, group);
      for (const workload of this.#workloads) if (workload.setup !== undefined) await workload.setup(use);
      const workers = Array.from({ length: this.plan.workers }, () => this.#work(use));
      await Promise.all([...workers, ...this.#workloads.map((workload) => workload.beside?.(use))]);
      if (!isRead && !this.#world.running()) {
        for (const workload of this.#workloads) await workload.lastReading?.(use);
        // What a session that ended meanwhile has read may be a part.
        isRead = client.state !== 'expired';
      }
      group?.close();
      await client.close();
      this.#calls.record({ type: 'session', event: client.state === 'expired' ? 'expired' : 'closed', session });
    }
  }

  get #usesReplicas(): boolean {
    return this.#workloads.some(({ usesReplicas }) => usesReplicas === true);
  }

  #sessionOf(client: Client, runtime: Runtime, group: Group | undefined): ClientSession {
    return {
      plan: this.plan,
      client,
      store: this.#world.store(runtime),
      group,
      calls: this.#calls,
      random: this.#random,
      runtime,
      world: this.#world,
      goesOn: () => this.#world.running() && client.state !== 'expired',
      sleep: (ms) => new Promise((resolve) => void runtime.clock.setTimer(ms, resolve)),
      round: () => {
        this.#rounds += 1;
      },
    };
  }

  async #work(session: ClientSession): Promise<void> {
    while (session.goesOn()) {
      const due = this.#due(session);
      await session.sleep(due?.inMs ?? this.#random.integer(maxPauseOf(this.plan)));
      const step = due?.step ?? this.#drawStep();
      await step?.(session);
    }
  }

  #due(session: ClientSession): { readonly inMs: number; readonly step: Workload['step'] } | undefined {
    for (const workload of this.#workloads) {
      const inMs = workload.dueInMs?.(session);
      if (inMs !== undefined) return { inMs, step: workload.step };
    }
    return undefined;
  }

  /** Undefined when there is nothing that is not due at some moment. */
  #drawStep(): Workload['step'] {
    if (this.#mix.length === 0) return undefined;
    return this.#mix[this.#random.integer(this.#mix.length)]?.step;
  }
}
