/** A state machine of which some answers are not what the real one said: what a promise that can fail must notice. */

import type { Answer, Query } from '@holdfast/protocol';
import {
  StateMachine,
  type NodeListener,
  type NodeSlot,
  type Output,
  type SessionInfo,
  type StateCounts,
  type StateRestore,
  type StateSnapshot,
} from '@holdfast/state';

import { LIMITS } from '../../../src/properties/limits.ts';
import type { Machine } from '../../../src/properties/observation/machine.ts';

export interface Lie {
  /** Made anew for each machine, so that a lie may remember. */
  readonly outputs?: (outputs: readonly Output[], index: number, real: StateMachine) => readonly Output[];
  /** The same of a machine that was restored from a snapshot. */
  readonly restoredOutputs?: Lie['outputs'];
  readonly answer?: (answer: Answer, query: Query) => Answer;
  readonly counts?: (counts: StateCounts, index: number) => StateCounts;
  readonly sessions?: (sessions: readonly SessionInfo[]) => readonly SessionInfo[];
  /** Whether what the change feed says comes through. */
  readonly notifies?: (...reported: Parameters<NodeListener>) => boolean;
  readonly digest?: (digest: number) => number;
  /** What comes of an entry that the real machine refuses by throwing. */
  readonly thrown?: (error: unknown) => readonly Output[];
}

export class LyingMachine implements Machine {
  readonly #real = new StateMachine({ limits: LIMITS });
  readonly #lie: Lie;
  #wasRestored = false;

  constructor(lie: Lie) {
    this.#lie = lie;
  }

  get appliedIndex(): number {
    return this.#real.appliedIndex;
  }

  get version(): number {
    return this.#real.version;
  }

  get digest(): number {
    return this.#lie.digest?.(this.#real.digest) ?? this.#real.digest;
  }

  get counts(): StateCounts {
    return this.#lie.counts?.(this.#real.counts, this.appliedIndex) ?? this.#real.counts;
  }

  get replyBytes(): number {
    return this.#real.replyBytes;
  }

  apply(index: number, entry: Uint8Array): readonly Output[] {
    const outputs = this.#applyReal(index, entry);
    const reported = this.#lie.outputs?.(outputs, index, this.#real) ?? outputs;
    return this.#wasRestored ? (this.#lie.restoredOutputs?.(reported, index, this.#real) ?? reported) : reported;
  }

  applyNoop(index: number): void {
    this.#real.applyNoop(index);
  }

  beginSnapshot(): StateSnapshot {
    return this.#real.beginSnapshot();
  }

  beginRestore(index: number): StateRestore {
    this.#wasRestored = true;
    return this.#real.beginRestore(index);
  }

  query(query: Query): Answer {
    const answer = this.#real.query(query);
    return this.#lie.answer?.(answer, query) ?? answer;
  }

  listen(listener: NodeListener): () => void {
    return this.#real.listen((...reported) => {
      if (this.#lie.notifies?.(...reported) ?? true) listener(...reported);
    });
  }

  pathOf(node: NodeSlot): string {
    return this.#real.pathOf(node);
  }

  session(id: number): SessionInfo | undefined {
    return this.#real.session(id);
  }

  sessions(): readonly SessionInfo[] {
    return this.#lie.sessions?.(this.#real.sessions()) ?? this.#real.sessions();
  }

  #applyReal(index: number, entry: Uint8Array): readonly Output[] {
    const { thrown } = this.#lie;
    if (thrown === undefined) return this.#real.apply(index, entry);
    try {
      return this.#real.apply(index, entry);
    } catch (error) {
      return thrown(error);
    }
  }
}
