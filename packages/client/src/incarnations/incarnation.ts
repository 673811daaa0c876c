/**
 * One session and what is bound to it: its waits, its holds, its nodes. A client has one at a time. An ordinary client is over with it; a
 * resilient one goes on in the next. Whoever remembers what a session has, such as an ephemeral node, remembers the incarnation beside it.
 */

import type { EndReason } from '@holdfast/protocol';
import type { Random } from '@holdfast/runtime';
import type { ClientState } from '../events.ts';
import { Acquires, type LostAcquires } from '../locks/acquires.ts';
import type { HeldLock } from '../locks/held-lock.ts';
import type { LockWait } from '../locks/waits/lock-wait.ts';
import { Nodes } from '../nodes.ts';
import type { ResolvedOptions } from '../options.ts';
import { Session, type ClientRuntime } from '../session/session.ts';

/** The incarnation that counts now; ask again after every wait. */
export type Present = () => Incarnation;

export interface IncarnationOwner {
  stateChanged(incarnation: Incarnation, state: ClientState, server: string | undefined, reason: string): void;
  releaseUnconfirmed(incarnation: Incarnation, held: HeldLock, error: unknown): void;
  longWait(incarnation: Incarnation, wait: LockWait): void;
}

export class Incarnation {
  readonly session: Session;
  readonly random: Random;
  readonly acquires: Acquires;
  /** Of this session alone. */
  readonly nodes: Nodes;
  /** Of acquires that name none. */
  readonly defaultWaitMs: number;
  readonly #ended = new AbortController();
  /** What it had of locks when its session ended. */
  lost: (LostAcquires & { readonly reason: EndReason }) | undefined;

  constructor(options: ResolvedOptions, runtime: ClientRuntime, owner: IncarnationOwner) {
    this.random = runtime.random;
    this.defaultWaitMs = options.defaultWaitMs;
    this.session = new Session(
      options,
      {
        granted: (acquireIndex, token, floor) => this.acquires.grantedByEnsemble(acquireIndex, token, floor),
        floorRaised: (acquireIndex, lock, floor) => this.acquires.floorRaised(acquireIndex, lock, floor),
        othersWait: (acquireIndex) => this.acquires.othersWait(acquireIndex),
        lost: (acquireIndex, reason, deadlock) => this.acquires.lostByEnsemble(acquireIndex, reason, deadlock),
        releaseRequested: (request) => this.acquires.releaseRequested(request),
        reconcile: (acquires) => this.acquires.reconcile(acquires),
        renewed: () => this.acquires.renewed(),
        ended: (reason, error) => {
          this.lost = { ...this.acquires.ended(reason, error), reason };
          this.#ended.abort(error);
        },
        stateChanged: (state, server, reason) => owner.stateChanged(this, state, server, reason),
      },
      runtime,
    );
    this.acquires = new Acquires(this.session, (held, error) => owner.releaseUnconfirmed(this, held, error), {
      longWaitMs: options.longWaitMs,
      longWait: (wait) => owner.longWait(this, wait),
    });
    this.nodes = new Nodes(() => this.session);
  }

  /** Aborts when the session is over, with what its calls fail with from then on. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }
}
