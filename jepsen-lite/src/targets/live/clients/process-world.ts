/** The world of a client that is a process of its own: what it records is stamped here, by the clock that all processes share. */

import { writeSync } from 'node:fs';
import type { Client } from '@holdfast/client';
import type { Logger, Runtime } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { randomStream } from '@holdfast/runtime/sim';
import type { HistoryEventBody } from '../../../history/history.ts';
import { GROUP } from '../../../plan/plan.ts';
import type { ApplicationWorld } from '../../../workloads/workload.ts';
import { HttpGroup } from './http-group.ts';
import { HttpStore } from './http-store.ts';
import { REPORT_FD, type ClientCommand, type ClientOrder, type ClientReport } from './protocol.ts';

const NS_PER_MS = 1e6;

export class ProcessWorld implements ApplicationWorld {
  readonly runtime: Runtime;
  readonly #order: ClientOrder;
  readonly #store: HttpStore;
  readonly #originNs: bigint;
  #servers: readonly string[];
  #calls: number;
  #running = true;
  #healed = false;

  constructor(order: ClientOrder) {
    this.#order = order;
    this.#store = new HttpStore(order.store);
    this.#originNs = BigInt(order.originNs);
    this.#servers = order.servers;
    this.#calls = order.callsAbove;
    this.runtime = nodeRuntime({ logger: this.#logger({}) });
  }

  get locks(): number {
    return this.#order.locks;
  }

  obey(command: ClientCommand): void {
    if (command === 'healed') this.#healed = true;
    else this.#running = false;
  }

  servers(): readonly string[] {
    return this.#servers;
  }

  foundAt(servers: readonly string[]): void {
    this.#servers = servers;
  }

  store(): HttpStore {
    return this.#store;
  }

  group(client: Client): HttpGroup | undefined {
    const { replicas } = this.#order;
    return replicas.length === 0 ? undefined : new HttpGroup(replicas, { client, group: GROUP });
  }

  nowMs(): number {
    return Math.floor(Number(process.hrtime.bigint() - this.#originNs) / NS_PER_MS);
  }

  random(name: string): ReturnType<ApplicationWorld['random']> {
    return randomStream(this.#order.seed, `live ${name} ${this.#order.boot}`);
  }

  nextCall(): number {
    this.#calls += 1;
    return this.#calls;
  }

  record(who: string, event: HistoryEventBody): void {
    report({ at: String(process.hrtime.bigint()), process: who, event });
  }

  running(): boolean {
    return this.#running;
  }

  mayTransfer(): boolean {
    return !this.#healed;
  }

  unexpected(who: string, error: unknown): void {
    report({ unexpected: `${who}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}` });
  }

  // What only the simulation looks into.
  drawn(): void {}
  believed(): void {}

  /** What the SDK says is kept in the client's log; an error is nobody's to expect. */
  #logger(bindings: object): Logger {
    const write = (level: string, fields: object, message: string): void => {
      process.stderr.write(`${JSON.stringify({ level, time: this.nowMs(), ...bindings, ...fields, message })}\n`);
    };
    return {
      debug() {},
      info: (fields, message) => write('info', fields, message),
      warn: (fields, message) => write('warn', fields, message),
      error: (fields, message) => {
        write('error', fields, message);
        this.unexpected('SDK', new Error(`${message} ${JSON.stringify(fields)}`));
      },
      child: (more) => this.#logger({ ...bindings, ...more }),
    };
  }
}

export function report(report: ClientReport): void {
  writeSync(REPORT_FD, `${JSON.stringify(report)}\n`);
}
