/**
 * Carries out what a scenario's strangers do, and judges it: nobody lets them in, and no server comes to a term that only they have named.
 * That no member ends by their word is judged where servers end, and that no replay is in the log where entries are applied.
 */

import type { SimWorld } from '@holdfast/runtime/sim';
import type { HandOverInvariants } from '../invariants/hand-over.ts';
import type { ReplayInvariants } from '../invariants/replays.ts';
import { serverHost, STRANGER_HOST } from '../../../plan/plan.ts';
import type { StrangerStep } from '../../../plan/steps.ts';
import type { ServerHost } from '../server-host.ts';
import { FORGED_TERM } from './forgeries.ts';
import { intrude, type Intrusion } from './intruder.ts';
import { replay } from './replayer.ts';
import { usurp } from './usurper.ts';

export interface StrangerCounts {
  /** Connections that strangers opened, and those of them that servers closed unheard. */
  readonly strangersConnected: number;
  readonly strangersRefused: number;
  /** Ports of servers that did not run. */
  readonly portsTaken: number;
  /** Servers that dialled there and were told that they are no members. */
  readonly serversMisled: number;
  /** News of an expulsion that was heard, since the ensemble did not know the server yet at whose address it is. */
  readonly expulsionsForged: number;
  /** Requests that clients sent again unasked, or without a number, and clients that lost their connection by the latter. */
  readonly requestsReplayed: number;
  readonly replayersDropped: number;
}

const NO_STRANGERS: StrangerCounts = {
  strangersConnected: 0,
  strangersRefused: 0,
  portsTaken: 0,
  serversMisled: 0,
  expulsionsForged: 0,
  requestsReplayed: 0,
  replayersDropped: 0,
};

/** The cluster that they trouble. */
export interface Victims {
  readonly world: SimWorld;
  readonly servers: ReadonlyMap<string, ServerHost>;
  readonly handOvers: Pick<HandOverInvariants, 'unsettled'>;
  readonly replays: Pick<ReplayInvariants, 'sending'>;
  fail(name: string, message: string): void;
}

export class Strangers {
  readonly #cluster: Victims;
  /** How many steps want the port of each server. */
  readonly #wanted = new Map<number, number>();
  #healed = false;
  #counts = NO_STRANGERS;

  constructor(cluster: Victims) {
    this.#cluster = cluster;
  }

  get counts(): StrangerCounts {
    return this.#counts;
  }

  /** Times count from now. */
  schedule(steps: readonly StrangerStep[]): void {
    const { world } = this.#cluster;
    for (const step of steps) {
      if (step.kind === 'intrude') world.after(step.atMs, () => this.#intrude(step));
      else if (step.kind === 'replay') world.after(step.atMs, () => this.#replay(step.server));
      else if (step.atMs === 0) this.#want(step);
      else world.after(step.atMs, () => this.#want(step));
    }
  }

  heal(): void {
    this.#healed = true;
    this.#wanted.clear();
  }

  /** That server's process is gone. */
  down(id: number): void {
    if (this.#wanted.has(id)) this.#cluster.world.after(0, () => this.#take(id));
  }

  stepped(id: number, term: number): void {
    if (term >= FORGED_TERM) this.#heard(`server ${id} has come to term ${term}, which only strangers have named`);
  }

  #want({ server: id, forMs }: Extract<StrangerStep, { kind: 'usurp' }>): void {
    if (this.#healed) return;
    const { world, handOvers } = this.#cluster;
    handOvers.unsettled(1);
    this.#wanted.set(id, (this.#wanted.get(id) ?? 0) + 1);
    this.#take(id);
    world.after(forMs, () => {
      handOvers.unsettled(-1);
      if (this.#healed) return;
      const left = (this.#wanted.get(id) ?? 1) - 1;
      if (left > 0) this.#wanted.set(id, left);
      else this.#wanted.delete(id);
      this.#server(id)?.boot();
    });
  }

  #take(id: number): void {
    const runtime = this.#wanted.has(id) ? this.#server(id)?.lend() : undefined;
    if (runtime === undefined) return;
    this.#count('portsTaken');
    usurp(runtime, id, {
      misled: ({ from, nonce }) => {
        this.#count('serversMisled');
        const intrusion = { server: from, as: id, purpose: 'expulsion', hasty: false, echo: nonce } as const;
        intrude(runtime, intrusion, {
          connected: () => {},
          // So that one who never met the server hears who is at its address.
          welcomed: () => this.#count('expulsionsForged'),
          refused: () => {},
        });
      },
    });
  }

  #intrude(intrusion: Intrusion): void {
    // No use where another stranger is.
    if (this.#healed || this.#server(intrusion.server)?.lent === true) return;
    intrude(this.#cluster.world.host(STRANGER_HOST).runtime, intrusion, {
      connected: () => this.#count('strangersConnected'),
      welcomed: () => {
        const { server, as, purpose } = intrusion;
        this.#heard(`server ${server} has welcomed a stranger as server ${as}, for purpose ${purpose}`);
      },
      refused: () => this.#count('strangersRefused'),
    });
  }

  #replay(server: number): void {
    if (this.#healed) return;
    const { world, replays } = this.#cluster;
    replay(world.host(STRANGER_HOST).runtime, server, {
      sending: (session, number) => replays.sending(session, number),
      replayed: (requests) => this.#count('requestsReplayed', requests),
      dropped: () => this.#count('replayersDropped'),
    });
  }

  #heard(message: string): void {
    this.#cluster.fail('strangers-are-not-heard', message);
  }

  #count(name: keyof StrangerCounts, by = 1): void {
    this.#counts = { ...this.#counts, [name]: this.#counts[name] + by };
  }

  #server(id: number): ServerHost | undefined {
    return this.#cluster.servers.get(serverHost(id));
  }
}
