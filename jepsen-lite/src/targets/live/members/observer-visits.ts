/**
 * A client that knows one observer only, for as long as that is one: it attaches a session there, takes a lock, writes and reads. So
 * whatever it is answered the observer has answered. It is recorded and judged like every other client; others find observers by chance.
 */

import { connect } from '@holdfast/client';
import type { Runtime } from '@holdfast/runtime';
import type { HistoryEventBody } from '../../../history/history.ts';
import { Calls } from '../../../workloads/calls.ts';
import { giveBack, takeLock } from '../../../workloads/locks/hold.ts';
import { createNode, readNode } from '../../../workloads/nodes/use-node.ts';
import type { RunningClient } from '../../phases.ts';

export const VISITOR = 'visitor';
const LOCK = 'visited';
const NODE = '/visited';
const SESSION_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
const WAIT_MS = 2_000;
/** Between two visits. */
const PAUSE_MS = 300;

export interface ObserverVisitsOptions {
  readonly runtime: Runtime;
  readonly record: (event: HistoryEventBody) => void;
  /** A whole visit was answered. */
  readonly served: () => void;
  readonly failed: (error: unknown) => void;
}

export class ObserverVisits implements RunningClient {
  /** It is no client whose work a run waits for. */
  readonly rounds = undefined;
  readonly #options: ObserverVisitsOptions;
  readonly #calls: Calls;
  #call = 0;
  #underWay = 0;
  #over = false;

  constructor(options: ObserverVisitsOptions) {
    this.#options = options;
    this.#calls = new Calls(VISITOR, {
      nextCall: () => (this.#call += 1),
      record: (_process, event) => options.record(event),
    });
  }

  get idle(): boolean {
    return this.#underWay === 0;
  }

  /** Nothing new is begun. */
  stop(): void {
    this.#over = true;
  }

  /** Again and again while the server is an observer. Resolves when it has served once, or is none any more. */
  visit(address: string, isObserver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#underWay += 1;
      this.#visits(address, isObserver, resolve)
        .catch(this.#options.failed)
        .finally(() => {
          this.#underWay -= 1;
          resolve();
        });
    });
  }

  async #visits(address: string, isObserver: () => boolean, served: () => void): Promise<void> {
    while (!this.#over && isObserver()) {
      if (await this.#visitOnce(address)) {
        this.#options.served();
        served();
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #visitOnce(address: string): Promise<boolean> {
    const { runtime } = this.#options;
    const options = { servers: [address], sessionTimeoutMs: SESSION_TIMEOUT_MS, connectTimeoutMs: CONNECT_TIMEOUT_MS };
    // It may be down, or cut off.
    const client = await connect({ ...options, label: VISITOR }, runtime).catch(() => undefined);
    if (client === undefined) return false;
    const session = client.sessionId;
    this.#calls.record({ type: 'session', event: 'connected', session, timeoutMs: SESSION_TIMEOUT_MS });
    const use = { calls: this.#calls, client };
    await createNode(use, NODE, VISITOR);
    const found = await readNode(use, NODE);
    const held = await takeLock(use, LOCK, { waitMs: WAIT_MS });
    if (held !== undefined) await giveBack(use, LOCK, held);
    await client.close();
    const event = client.state === 'expired' ? 'expired' : 'closed';
    this.#calls.record({ type: 'session', event, session });
    return found !== undefined && held !== undefined;
  }
}
