/**
 * Carries out what a scenario's strangers do, and judges it: nobody lets them in, and no server comes to a term that only they have named.
 * That no member ends by their word is judged where servers end, and that no replay is in the log where entries are applied.
 */

import type { SimWorld } from '@holdfast/runtime/sim';
import type { Effect, Intrusion } from '../../nemeses/target.ts';
import type { TransferInvariants } from './invariants/transfer.ts';
import type { ReplayInvariants } from './invariants/replays.ts';
import { serverHost, STRANGER_HOST } from '../../plan/plan.ts';
import { CLUSTER_ID, clientAddress, peerAddress, type ServerHost } from './server-host.ts';
import { FORGED_TERM } from '../strangers/forgeries.ts';
import { intrude } from '../strangers/intruder.ts';
import type { Ports } from '../strangers/ports.ts';
import { replay } from '../strangers/replayer.ts';
import { usurp } from '../strangers/usurper.ts';

const PORTS: Ports = { clusterId: CLUSTER_ID, clientAddress, peerAddress };

/** The cluster that they trouble. */
export interface Victims {
  readonly world: SimWorld;
  readonly servers: ReadonlyMap<string, ServerHost>;
  readonly transfers: Pick<TransferInvariants, 'changing'>;
  readonly replays: Pick<ReplayInvariants, 'sending'>;
  readonly effects: { count(effect: Effect, times?: number): void };
  fail(name: string, message: string): void;
}

export class Strangers {
  readonly #cluster: Victims;
  /** How many faults want the port of each server. */
  readonly #wanted = new Map<number, number>();
  #healed = false;

  constructor(cluster: Victims) {
    this.#cluster = cluster;
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

  takePort(id: number): void {
    this.#cluster.transfers.changing(1);
    this.#wanted.set(id, (this.#wanted.get(id) ?? 0) + 1);
    this.#take(id);
  }

  leavePort(id: number): void {
    this.#cluster.transfers.changing(-1);
    if (this.#healed) return;
    const left = (this.#wanted.get(id) ?? 1) - 1;
    if (left > 0) this.#wanted.set(id, left);
    else this.#wanted.delete(id);
    this.#server(id)?.boot();
  }

  intrude(intrusion: Intrusion): void {
    // No use where another stranger is.
    if (this.#server(intrusion.server)?.lent === true) return;
    intrude(this.#cluster.world.host(STRANGER_HOST).runtime, PORTS, intrusion, {
      connected: () => this.#count('stranger-connected'),
      welcomed: () => {
        const { server, as, purpose } = intrusion;
        this.#heard(`server ${server} has welcomed a stranger as server ${as}, for purpose ${purpose}`);
      },
      refused: () => this.#count('stranger-refused'),
    });
  }

  replay(server: number): void {
    const { world, replays } = this.#cluster;
    replay(world.host(STRANGER_HOST).runtime, PORTS, server, {
      sending: (session, number) => replays.sending(session, number),
      replayed: (requests) => this.#count('request-replayed', requests),
      dropped: () => this.#count('replayer-dropped'),
    });
  }

  #take(id: number): void {
    const runtime = this.#wanted.has(id) ? this.#server(id)?.lend() : undefined;
    if (runtime === undefined) return;
    this.#count('port-taken');
    void usurp(runtime, PORTS, id, {
      misled: ({ from, nonce }) => {
        this.#count('server-misled');
        const intrusion = { server: from, as: id, purpose: 'expulsion', hasty: false, echo: nonce } as const;
        intrude(runtime, PORTS, intrusion, {
          connected: () => {},
          // So that one who never met the server hears who is at its address.
          welcomed: () => this.#count('expulsion-forged'),
          refused: () => {},
        });
      },
    });
  }

  #heard(message: string): void {
    this.#cluster.fail('strangers-are-not-heard', message);
  }

  #count(effect: Effect, times = 1): void {
    this.#cluster.effects.count(effect, times);
  }

  #server(id: number): ServerHost | undefined {
    return this.#cluster.servers.get(serverHost(id));
  }
}
