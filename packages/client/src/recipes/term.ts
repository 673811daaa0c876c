/** One term of a leader: a hold of the election's lock, and the value that those who observe the election are told. */

import { offAbort, onAbort } from '@holdfast/runtime';
import { LockLostError } from '../errors.ts';
import type { Incarnation } from '../incarnations/incarnation.ts';
import type { HeldLock } from '../locks/held-lock.ts';
import type { CallOptions } from '../session/call.ts';
import type { NodeData } from '../tree/node-arguments.ts';
import { createBelow } from './recipe-tree.ts';

/**
 * The time for which one leads, from the win to the loss or `resign`.
 *
 * @example
 * for await (const term of client.election('cron').campaign()) {
 *   await store.put('leader', 'host-1', { token: term.token });
 * }
 */
export class Term {
  /** The hold of the election's lock: what is given to a fenced resource. */
  readonly held: HeldLock;
  readonly #incarnation: Incarnation;
  readonly #path: string;
  readonly #withdraw = (): void => void this.#remove();
  #resigned: Promise<void> | undefined;

  /** @internal */
  constructor(held: HeldLock, incarnation: Incarnation, directory: string) {
    this.held = held;
    this.#incarnation = incarnation;
    // Tokens of 16 digits sort as text: the last name is that of the present leader.
    this.#path = `${directory}/${held.tokenText}`;
  }

  /** Higher than that of every earlier term of this election. */
  get token(): number {
    return this.held.token;
  }

  /** Aborts when the term is over: lost, or resigned. Do nothing as the leader after that. */
  get signal(): AbortSignal {
    return this.held.signal;
  }

  /** @throws LockLostError when the term is over, or may be */
  assertHeld(): void {
    this.held.assertHeld();
  }

  /** Tells those who observe the election another value. Rejects with LockLostError when the term is over. */
  async proclaim(value: NodeData, options: CallOptions = {}): Promise<void> {
    this.held.assertHeld();
    try {
      await this.#incarnation.nodes.set(this.#path, value, options);
    } catch (error) {
      throw this.held.loss ?? error;
    }
  }

  /** Ends the term: those who observe see no leader before the next one leads. Without effect on a term that is over. Never rejects. */
  resign(): Promise<void> {
    this.#resigned ??= this.#resign();
    return this.#resigned;
  }

  /** @internal Rejects with what keeps the value from being told; the term is to be resigned then. */
  async begin(value: NodeData): Promise<void> {
    onAbort(this.signal, this.#withdraw);
    await createBelow(this.#incarnation.nodes, this.#path, value, { ephemeral: true });
    if (this.held.loss !== undefined) throw this.held.loss;
  }

  async #resign(): Promise<void> {
    if (this.held.loss !== undefined) return;
    offAbort(this.signal, this.#withdraw);
    // In this order: requests of a session are applied as they were made.
    const removed = this.#remove();
    // One that is not confirmed goes on in the background, and is an event of the client.
    await this.held.release().catch((error: unknown) => {
      if (error instanceof LockLostError) return;
    });
    await removed;
  }

  /** It is ephemeral: where this fails, it goes with its session. */
  async #remove(): Promise<void> {
    const { nodes } = this.#incarnation;
    await nodes.delete(this.#path, { timeoutMs: Number.POSITIVE_INFINITY }).catch(() => undefined);
  }
}
