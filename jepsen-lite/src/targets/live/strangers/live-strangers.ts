/**
 * Strangers of a live run: the harness itself dials servers as somebody else, and a process of its own takes a server's port. They have
 * struck when the servers say so: in their logs, or by closing the connection of one who replays. Nobody may welcome them, and no server
 * may come to a term that only they have named.
 */

import { readFileSync } from 'node:fs';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import type { Capabilities, Effect, Intrusion } from '../../../nemeses/target.ts';
import { serverHost } from '../../../plan/plan.ts';
import { FORGED_TERM } from '../../strangers/forgeries.ts';
import { intrude } from '../../strangers/intruder.ts';
import type { Ports } from '../../strangers/ports.ts';
import { replay } from '../../strangers/replayer.ts';
import type { Machine } from '../processes/machine.ts';
import { CLUSTER_ID } from '../processes/programs.ts';
import { NOBODY, type UsurperReport } from './protocol.ts';
import { UsurperProcess } from './usurper-process.ts';

/** As servers log it: of a dial that they refused, and of one of theirs. */
const REFUSED = 'refused a peer connection';
const MISLED = 'a connection to a peer came to nothing';
/** Repeats of a refusal are one line a second. */
const LOG_LIMIT_MS = 5_000;
const LOOK_MS = 200;
/** For the server to end, and for a process to start on a busy machine. */
const LISTENS_MS = 10_000;
/** The harness itself may be held up for longer than a dial takes: then it would give up a connection that was made long ago. */
const DIAL_TIMEOUT_MS = 10_000;

export interface LiveStrangersOptions {
  /** Of all servers that may ever run. */
  readonly ids: readonly number[];
  readonly clientAddress: (host: string) => string;
  readonly peerAddress: (host: string) => string;
  readonly inside: (host: string) => readonly string[];
  readonly machineOn: (host: string) => Machine;
  /** Where the server of a host is gone, one that has joined. */
  readonly standIn: (host: string) => string;
  readonly logFile: (host: string) => string;
  readonly count: (effect: Effect, times?: number) => void;
  readonly after: (ms: number, action: () => void) => void;
  readonly fail: (name: string, message: string) => void;
}

export class LiveStrangers {
  readonly #options: LiveStrangersOptions;
  readonly #runtime = nodeRuntime({ logger: silentLogger });
  readonly #ports: Ports;
  /** How many faults want the port of each host. */
  readonly #wanted = new Map<string, number>();
  /** Whose port was taken for a server, by its number. */
  readonly #taken = new Map<number, string>();
  readonly #usurpers = new Map<string, UsurperProcess>();
  /** Told when somebody listens at the port of that host, or nobody is to any more. */
  readonly #awaited = new Map<string, readonly (() => void)[]>();
  #over = false;

  constructor(options: LiveStrangersOptions) {
    this.#options = options;
    const { ids, clientAddress, peerAddress } = options;
    const known = (id: number): boolean => ids.includes(id);
    this.#ports = {
      clusterId: CLUSTER_ID,
      clientAddress: (id) => (known(id) ? clientAddress(serverHost(id)) : NOBODY),
      peerAddress: (id) => (known(id) ? peerAddress(serverHost(id)) : NOBODY),
    };
  }

  readonly capability: Capabilities['strangers'] = {
    intrude: (intrusion) => this.#intrude(intrusion),
    replay: (server) =>
      replay(
        this.#runtime,
        this.#ports,
        this.#standIn(server),
        {
          sending: () => undefined,
          replayed: (requests) => this.#options.count('request-replayed', requests),
          dropped: () => this.#options.count('replayer-dropped'),
        },
        DIAL_TIMEOUT_MS,
      ),
    takePort: async (server) => {
      const host = this.#taken.get(server) ?? this.#options.standIn(serverHost(server));
      this.#taken.set(server, host);
      this.#wanted.set(host, (this.#wanted.get(host) ?? 0) + 1);
      const listens = this.#listens(host);
      this.down(host);
      await listens;
    },
    leavePort: async (server) => {
      const host = this.#taken.get(server) ?? serverHost(server);
      const left = (this.#wanted.get(host) ?? 0) - 1;
      if (left > 0) this.#wanted.set(host, left);
      if (left !== 0) return;
      this.#wanted.delete(host);
      this.#taken.delete(server);
      await this.#leave(host);
      await this.#options.machineOn(host).start();
    },
  };

  /** Its server may not start: somebody is to have its port, or still has it. */
  hasPort(host: string): boolean {
    return this.#wanted.has(host) || this.#usurpers.has(host);
  }

  /** Nothing runs on that host, maybe. */
  down(host: string): void {
    if (this.#over || !this.#wanted.has(host) || this.#usurpers.has(host)) return;
    if (this.#options.machineOn(host).pid !== undefined) return;
    const { ids, inside } = this.#options;
    const peerAddresses = Object.fromEntries(ids.map((id) => [id, this.#ports.peerAddress(id)]));
    const server = ids.find((id) => serverHost(id) === host) ?? 0;
    const order = { server, clusterId: CLUSTER_ID, peerAddresses };
    this.#usurpers.set(host, new UsurperProcess(inside(host), order, (report) => this.#heard(host, report)));
  }

  /** A server has said that it is of that term. */
  sawTerm(host: string, term: number): void {
    if (term < FORGED_TERM) return;
    this.#believed(`${host} has come to term ${term}, which only strangers have named`);
  }

  /** Nobody has a port any more; servers are started by whoever heals. */
  async heal(): Promise<void> {
    for (const host of this.#wanted.keys()) this.#endWaits(host);
    this.#wanted.clear();
    await Promise.all([...this.#usurpers.keys()].map((host) => this.#leave(host)));
  }

  async close(): Promise<void> {
    this.#over = true;
    await this.heal();
  }

  /** In time, or never: how long it has the port counts from then. */
  #listens(host: string): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited.set(host, [...(this.#awaited.get(host) ?? []), resolve]);
      this.#options.after(LISTENS_MS, resolve);
    });
  }

  #endWaits(host: string): void {
    for (const resolve of this.#awaited.get(host) ?? []) resolve();
    this.#awaited.delete(host);
  }

  async #leave(host: string): Promise<void> {
    this.#endWaits(host);
    await this.#usurpers.get(host)?.end();
    this.#usurpers.delete(host);
  }

  #intrude(intrusion: Intrusion): void {
    const { as, purpose } = intrusion;
    const server = this.#standIn(intrusion.server);
    const host = serverHost(server);
    // No use where another stranger is.
    if (this.hasPort(host)) return;
    const before = this.#lines(host, REFUSED);
    intrude(
      this.#runtime,
      this.#ports,
      { ...intrusion, server },
      {
        connected: () => undefined,
        welcomed: () =>
          this.#believed(`server ${server} has welcomed a stranger as server ${as}, for purpose ${purpose}`),
        refused: () => this.#countWhenLogged('stranger-refused', host, REFUSED, before),
      },
      DIAL_TIMEOUT_MS,
    );
  }

  /** One that still takes part: nobody listens where one was that has left. */
  #standIn(server: number): number {
    const host = this.#options.standIn(serverHost(server));
    return this.#options.ids.find((id) => serverHost(id) === host) ?? server;
  }

  #heard(at: string, report: UsurperReport): void {
    const { count } = this.#options;
    switch (report.type) {
      case 'listens':
        this.#endWaits(at);
        return;
      case 'forged':
        count('expulsion-forged');
        return;
      case 'misled': {
        const host = serverHost(report.server);
        this.#countWhenLogged('server-misled', host, MISLED, this.#lines(host, MISLED) - 1);
      }
    }
  }

  #countWhenLogged(effect: Effect, host: string, text: string, before: number, waitedMs = 0): void {
    if (this.#lines(host, text) > Math.max(0, before)) this.#options.count(effect);
    else if (waitedMs < LOG_LIMIT_MS) {
      this.#options.after(LOOK_MS, () => this.#countWhenLogged(effect, host, text, before, waitedMs + LOOK_MS));
    }
  }

  #lines(host: string, text: string): number {
    try {
      return readFileSync(this.#options.logFile(host), 'utf8').split(text).length - 1;
    } catch {
      // It has not started yet.
      return 0;
    }
  }

  #believed(message: string): void {
    this.#options.fail('strangers-are-not-heard', message);
  }
}
