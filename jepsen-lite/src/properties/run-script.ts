/**
 * One run: feeds a script's entries to two machines, shows every promise each of them with what came of it, and says which broke first.
 * The second machine has collections that iterate backwards, and its entries lie in memory that is overwritten afterwards.
 */

import { InvariantError, stampEntry } from '@holdfast/state';

import { describeInput, describeStep } from './describe.ts';
import { lockChanges } from './observation/lock-changes.ts';
import { feed, type Machine, type MakeMachine } from './observation/machine.ts';
import { Snapshots } from './observation/snapshots.ts';
import type { Step, ReportedChange } from './observation/step.ts';
import { viewOf, type View } from './observation/view.ts';
import { REQUESTS_ARE_ANSWERED } from './promises/requests/requests-are-answered.ts';
import { restoredMachinesGoOn } from './promises/restored-machines-go-on.ts';
import { sameOnEveryMachine } from './promises/same-on-every-machine.ts';
import { withReversedCollections } from './reversed-collections.ts';
import { Clients } from './script/clients.ts';
import type { Entry } from './script/entry.ts';
import type { Move } from './script/move.ts';
import type { StatePromise } from './state-promise.ts';
import { BrokenPromiseError, demand } from './demand.ts';

export interface Setting {
  readonly makeMachine: MakeMachine;
  /** Makes the second machine. */
  readonly makeTwin: MakeMachine;
  readonly promises: readonly (() => StatePromise)[];
}

/** What broke: a promise, one of the product's own invariants, or (`error`) something that nobody has foreseen. */
export interface Breach {
  readonly kind: 'promise' | 'invariant' | 'error';
  readonly name: string;
  readonly message: string;
  /** Other promises that the same entry broke. */
  readonly also?: readonly string[];
}

const READABLE = 'what is listed can be read';
const VERSIONED = 'an entry of another version is refused before anything has changed';

const START_MS = 1_000_000;
const STEP_MS = 10;
const BACK_MS = 35;
/** The twin's whole state is compared at each so many-th entry and at the last one; its outputs and digest at every one. */
const COMPARED_EACH = 8;
/** Where an entry lies for the second machine: not at the beginning of its buffer. */
const OFFSET = 5;

/** `onStep` is told of every entry, of the one that broke a promise as well. */
export function runScript(
  script: readonly Move[],
  setting: Setting,
  onStep?: (step: Step) => void,
): Breach | undefined {
  return new Run(setting).run(script, onStep);
}

/** The entries of a run and what came of them as text, up to the breach. */
export function describeScript(script: readonly Move[], setting: Setting): readonly string[] {
  const lines: string[] = [];
  const run = new Run(setting);
  run.run(script, (step) => lines.push(describeStep(step)));
  if (run.fatal !== undefined) lines.push(run.fatal);
  return lines;
}

class Run {
  readonly #machine: Machine;
  readonly #twin: Machine;
  readonly #snapshots: Snapshots;
  readonly #promises: readonly StatePromise[];
  readonly #clients = new Clients();
  #view: View;
  #nodeChanges: ReportedChange[] = [];
  /** The entry that the machine did not survive. */
  fatal: string | undefined;

  constructor({ makeMachine, makeTwin, promises }: Setting) {
    this.#machine = makeMachine();
    // To the second machine nobody listens.
    this.#machine.listen((kind, node, changedAt) => {
      this.#nodeChanges.push({ kind, path: this.#machine.pathOf(node), index: changedAt });
    });
    this.#twin = withReversedCollections(makeTwin);
    this.#snapshots = new Snapshots(this.#machine, makeMachine);
    this.#promises = promises.map((make) => make());
    this.#view = viewOf(this.#machine);
  }

  run(script: readonly Move[], onStep?: (step: Step) => void): Breach | undefined {
    for (const [position, move] of script.entries()) {
      const entry = this.#clients.entryOf(move, this.#view);
      const stamp = START_MS + position * STEP_MS - (move.pick % 5 === 0 ? BACK_MS : 0);
      const compared = position % COMPARED_EACH === 0 || position === script.length - 1;
      if (entry.bytes !== undefined) stampEntry(entry.bytes, stamp, viaOf(entry));
      const step = attempt(READABLE, () => this.#apply(entry, stamp, move, compared));
      if ('kind' in step) {
        this.fatal = `${this.#view.index + 1}: ${describeInput(entry.input)} -> ${step.message}`;
        return step;
      }
      onStep?.(step);
      const [breach, ...others] = this.#breaches(step);
      if (breach !== undefined) return { ...breach, also: others.map(({ name }) => name) };
      this.#clients.learn(entry, step.outputs);
    }
    return undefined;
  }

  #breaches(step: Step): readonly Breach[] {
    const breaches: Breach[] = [];
    for (const promise of this.#promises) {
      const breach = attempt(promise.name, () => promise.observe(step));
      if (breach !== undefined) breaches.push(breach);
    }
    return breaches;
  }

  #apply(entry: Entry, stamp: number, move: Move, compared: boolean): Step | Breach {
    const index = this.#view.index + (entry.input.type === 'unsupported' ? 0 : 1);
    const before = this.#view;
    this.#nodeChanges = [];
    const outputs = attempt(entry.input.type === 'request' ? REQUESTS_ARE_ANSWERED : VERSIONED, () =>
      feed(this.#machine, before.index + 1, entry),
    );
    if ('kind' in outputs) return outputs;
    demand(this.#machine.appliedIndex === index, () => `${this.#machine.appliedIndex} was applied last, not ${index}`);
    const after = viewOf(this.#machine);
    this.#view = after;
    const twin = attempt(sameOnEveryMachine().name, () => this.#feedTwin(before.index + 1, entry, compared));
    if ('kind' in twin) return { ...twin, kind: 'promise', name: sameOnEveryMachine().name };
    const { input } = entry;
    const { digest } = this.#machine;
    const restored = attempt(restoredMachinesGoOn().name, () =>
      this.#snapshots.applied({ index, entry, outputs, digest }, after, move),
    );
    if (restored !== undefined && restored.kind !== 'promise') return restored;
    const query: Step['query'] = (question) => this.#machine.query(question);
    return {
      index,
      stamp,
      input,
      outputs,
      changes: lockChanges({ index, input, outputs, before }),
      nodeChanges: this.#nodeChanges,
      before,
      after,
      digest,
      query,
      twin,
      restoredDifference: restored?.message,
    };
  }

  #feedTwin(index: number, entry: Entry, compared: boolean): Step['twin'] {
    const frame = new Uint8Array(OFFSET + (entry.bytes?.length ?? 0));
    if (entry.bytes !== undefined) frame.set(entry.bytes, OFFSET);
    const bytes = entry.bytes === undefined ? undefined : frame.subarray(OFFSET);
    const outputs = withReversedCollections(() => feed(this.#twin, index, { ...entry, bytes }));
    frame.fill(0xff);
    return { outputs, digest: this.#twin.digest, view: compared ? viewOf(this.#twin) : undefined };
  }
}

/** The server that the leader had the entry from. */
function viaOf({ input }: Entry): number {
  if (input.type === 'request') return input.via;
  return input.type === 'attach' ? input.server : 0;
}

/** What `work` returns; a breach when it throws, `name` being the promise that it looks after. */
function attempt<T>(name: string, work: () => T): T | Breach {
  try {
    return work();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof BrokenPromiseError) return { kind: 'promise', name, message };
    if (error instanceof InvariantError) return { kind: 'invariant', name: `invariant: ${error.invariant}`, message };
    return {
      kind: 'error',
      name: 'unexpected error',
      message: error instanceof Error ? (error.stack ?? message) : message,
    };
  }
}
