/**
 * One incarnation of a simulated process: everything that it is to hear (timers, input and output, the check phase)
 * goes through here, so that nothing reaches it after its death and everything waits while it is paused.
 */

import type { SimEvent } from './event-queue.ts';
import type { Scheduler } from './scheduler.ts';
import type { Struck } from './struck.ts';
import { EventKinds } from './trace.ts';
import type { EventKind } from './trace.ts';

/** The phases of one turn of Node's event loop, in their order. */
export type Phase = 'timer' | 'io' | 'check';

const PHASE_ORDER: Readonly<Record<Phase, number>> = { timer: 0, io: 1, check: 2 };

export interface Scheduled {
  cancel(): void;
}

/** What a process is to hear, its caller's handle on that, and the event's work, in one object: there are many. */
class Waiting implements Scheduled {
  readonly phase: Phase;
  readonly kind: EventKind;
  readonly callback: () => void;
  readonly #scheduler: Scheduler;
  readonly #due: (waiting: Waiting) => void;
  #event: SimEvent | undefined;
  cancelled = false;
  /** Came while the process was paused. */
  late = false;

  constructor(
    phase: Phase,
    kind: EventKind,
    callback: () => void,
    scheduler: Scheduler,
    due: (waiting: Waiting) => void,
  ) {
    this.phase = phase;
    this.kind = kind;
    this.callback = callback;
    this.#scheduler = scheduler;
    this.#due = due;
  }

  arm(delayTicks: number): void {
    this.#event = this.#scheduler.schedule(delayTicks, this.kind, this);
  }

  run(): void {
    this.#event = undefined;
    this.#due(this);
  }

  cancel(): void {
    this.cancelled = true;
    if (this.#event !== undefined) this.#scheduler.cancel(this.#event);
  }
}

export class SimProcess {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly kinds: EventKinds;
  #alive = true;
  #paused = false;
  #parked: Waiting[] = [];
  readonly #struck: Struck;
  readonly #deathHooks = new Set<() => void>();
  readonly #due = (waiting: Waiting): void => this.#run(waiting);

  constructor(name: string, scheduler: Scheduler, struck: Struck) {
    this.name = name;
    this.scheduler = scheduler;
    this.#struck = struck;
    this.kinds = new EventKinds(name);
  }

  get alive(): boolean {
    return this.#alive;
  }

  get paused(): boolean {
    return this.#paused;
  }

  schedule(delayTicks: number, phase: Phase, kind: string, callback: () => void): Scheduled {
    const waiting = new Waiting(phase, this.kinds.of(kind), callback, this.scheduler, this.#due);
    if (this.#alive) waiting.arm(delayTicks);
    return waiting;
  }

  /** Hands over what has arrived: now, or at `resume`. */
  deliver(phase: Phase, kind: string, callback: () => void): void {
    if (!this.#paused) {
      if (this.#alive) callback();
      return;
    }
    this.#run(new Waiting(phase, this.kinds.of(kind), callback, this.scheduler, this.#due));
  }

  pause(): void {
    this.#paused = true;
  }

  /** What was due meanwhile happens now, in the order of the phases: due timers run before sockets are read. */
  resume(): void {
    this.#paused = false;
    const parked = this.#parked.toSorted((a, b) => PHASE_ORDER[a.phase] - PHASE_ORDER[b.phase]);
    this.#parked = [];
    for (const waiting of parked) waiting.arm(0);
  }

  /** The hook runs when the process dies, as the kernel cleans up after it; the result removes it. */
  onDeath(hook: () => void): () => void {
    this.#deathHooks.add(hook);
    return () => void this.#deathHooks.delete(hook);
  }

  die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#parked = [];
    const hooks = [...this.#deathHooks];
    this.#deathHooks.clear();
    for (const hook of hooks) hook();
  }

  #run(waiting: Waiting): void {
    if (!this.#alive || waiting.cancelled) return;
    if (this.#paused) {
      waiting.late = true;
      this.#parked.push(waiting);
      return;
    }
    if (waiting.late && waiting.phase !== 'check') {
      this.#struck.count(waiting.phase === 'timer' ? 'timer-late-after-pause' : 'io-late-after-pause');
    }
    waiting.callback();
  }
}

/** What a call of a dead process returns: nobody is left to hear an answer. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
