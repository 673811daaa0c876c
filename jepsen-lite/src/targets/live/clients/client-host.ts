/**
 * The harness's end of a client process: it starts one after another on the client's host, hears what they tell, and ends the calls that
 * one leaves open when it is killed. Nobody will ever be told what came of those.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { watchPaused, type ProcessExit } from '@holdfast/ensemble';
import type { HistoryEventBody, Operation } from '../../../history/history.ts';
import type { ClientPlan } from '../../../plan/plan.ts';
import type { RunningClient } from '../../phases.ts';
import { builtLiveFile } from '../processes/built.ts';
import { logFile } from '../processes/programs.ts';
import type { Running } from '../processes/machine.ts';
import type { ClientCommand, ClientOrder, ClientReport, ClientServers } from './protocol.ts';

/** More calls than a process can make in a run. */
const CALLS_OF_A_PROCESS = 1e8;

const ENTRY = fileURLToPath(builtLiveFile('clients/main.js'));

export interface ClientHostOptions {
  readonly plan: ClientPlan;
  /** Among all clients, from 0. */
  readonly number: number;
  readonly order: Omit<ClientOrder, 'plan' | 'boot' | 'callsAbove' | 'servers'>;
  /** Where servers may be found now. */
  readonly servers: () => readonly string[];
  /** What goes before the command of a process there. */
  readonly inside: () => readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
  /** `who`: the application, or what else in the process it happened to. */
  readonly heard: (who: string, at: bigint, event: HistoryEventBody) => void;
  readonly unexpected: (error: string) => void;
}

type ClientEvent = Extract<HistoryEventBody, { readonly type: 'invoke' | 'ok' | 'fail' | 'info' }>;

export class ClientHost implements RunningClient {
  readonly #options: ClientHostOptions;
  #child: ChildProcess | undefined;
  #boots = 0;
  /** Of its processes that have ended. */
  #roundsBefore = 0;
  #rounds: number | undefined;
  #idle = true;
  readonly #open = new Map<number, { readonly who: string; readonly operation: Operation }>();
  readonly #commands = new Set<ClientCommand>();
  /** What the last process still has to tell. */
  #heard: Promise<unknown> = Promise.resolve();

  constructor(options: ClientHostOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.plan.name;
  }

  get rounds(): number | undefined {
    return this.#rounds === undefined ? undefined : this.#roundsBefore + this.#rounds;
  }

  get idle(): boolean {
    return this.#idle;
  }

  get openCalls(): number {
    return this.#open.size;
  }

  send(command: ClientCommand): void {
    this.#commands.add(command);
    this.#child?.stdin?.write(`${command}\n`);
  }

  /** Servers may be found elsewhere from now on. */
  tellServers(): void {
    const servers: ClientServers = { servers: this.#options.servers() };
    this.#child?.stdin?.write(`${JSON.stringify(servers)}\n`);
  }

  launch(): Running {
    const { plan, number, order, servers, inside, environment: env, directory } = this.#options;
    this.#boots += 1;
    const boot = this.#boots;
    const callsAbove = (number * 1_000 + boot) * CALLS_OF_A_PROCESS;
    mkdirSync(join(directory, 'logs'), { recursive: true });
    const log = openSync(logFile(directory, plan.name), 'a', 0o600);
    const asked = JSON.stringify({ ...order, servers: servers(), plan, boot, callsAbove } satisfies ClientOrder);
    const [command, ...args] = [...inside(), process.execPath, '--enable-source-maps', ENTRY, asked];
    const child = spawn(command, args, { stdio: ['pipe', log, log, 'pipe'], detached: true, env });
    closeSync(log);
    child.stdin?.on('error', () => undefined);
    this.#child = child;
    this.#idle = false;
    this.#heard = this.#listen(child, boot);
    for (const each of this.#commands) child.stdin?.write(`${each}\n`);
    const exited = new Promise<ProcessExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', () => resolve({ code: null, signal: null }));
    });
    let endWatch: (() => void) | undefined;
    const ended = exited.then(async (exit) => {
      endWatch?.();
      await this.#heard;
      if (boot === this.#boots) this.#died();
      return exit;
    });
    return {
      pid: child.pid,
      exited: ended,
      kill: () => child.kill('SIGKILL'),
      // It has nothing to hand over: it ends as when nobody listens to it any more.
      terminate: () => child.stdin?.end(),
      pause: () => {
        endWatch ??= child.pid === undefined ? undefined : watchPaused(child.pid);
        child.kill('SIGSTOP');
      },
      resume: () => {
        child.kill('SIGCONT');
        endWatch?.();
        endWatch = undefined;
      },
    };
  }

  describe(): string {
    return `${this.name}: ${this.#child === undefined ? 'down' : `${this.rounds} rounds, ${this.#open.size} open calls`}`;
  }

  #listen(child: ChildProcess, boot: number): Promise<void> {
    const lines = createInterface({ input: child.stdio[3] as Readable });
    lines.on('line', (line) => {
      let report: ClientReport;
      try {
        report = JSON.parse(line) as ClientReport;
      } catch {
        // A kill may have cut the last line short.
        return;
      }
      this.#hear(report, boot);
    });
    return new Promise((resolve) => lines.once('close', resolve));
  }

  #hear(report: ClientReport, boot: number): void {
    if ('unexpected' in report) {
      this.#options.unexpected(report.unexpected);
    } else if ('event' in report) {
      const { event, process: who } = report;
      if (event.type === 'invoke') this.#open.set(event.call, { who, operation: operationOf(event) });
      else if (event.type === 'ok' || event.type === 'fail' || event.type === 'info') this.#open.delete(event.call);
      this.#options.heard(who, BigInt(report.at), event);
    } else if (boot === this.#boots) {
      this.#rounds = report.rounds ?? undefined;
      this.#idle = report.idle;
    }
  }

  #died(): void {
    this.#child = undefined;
    if (this.#rounds !== undefined) this.#roundsBefore += this.#rounds;
    this.#rounds = this.#rounds === undefined ? undefined : 0;
    this.#idle = true;
    const at = process.hrtime.bigint();
    for (const [call, { who, operation }] of this.#open) {
      this.#options.heard(who, at, { type: 'info', call, code: 'CRASHED', ...operation });
    }
    this.#open.clear();
  }
}

function operationOf({ type: _type, call: _call, ...operation }: ClientEvent & { readonly type: 'invoke' }): Operation {
  return operation as Operation;
}
