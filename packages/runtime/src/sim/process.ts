/**
 * One incarnation of a simulated process: everything that it is to hear (timers, input and output, the check phase)
 * goes through here, so that nothing reaches it after its death and everything waits while it is paused, or busy with what came before.
 */

import type { SimEvent } from './event-queue.ts';
import { toTicks, type Scheduler } from './scheduler.ts';
import type { Struck } from './struck.ts';
import { EventKinds } from './trace.ts';
import type { EventKind } from './trace.ts';

/** The phases of one turn of Node's event loop, in their order. */
export type Phase = 'timer' | 'io' | 'check';

const PHASE_ORDER: Readonly<Record<Phase, number>> = { timer: 0, io: 1, check: 2 };

export interface Scheduled {
  cancel(): void;
}

/** What work takes a process, in milliseconds of virtual time; all of it costs nothing where nothing else is said. */
export interface ProcessCosts {
  /** A connection that comes in: its socket, its handshake. */
  readonly acceptMs: number;
  /** A frame that it reads. */
  readonly frameMs: number;
}

const NO_COSTS: ProcessCosts = { acceptMs: 0, frameMs: 0 };

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
  costs: ProcessCosts = NO_COSTS;
  #busyUntilTicks = 0;
  /** What came while the process was busy: what is left of the present phase of its loop, then the check phase, then the next turn. */
  #present: Waiting[] = [];
  #checks: Waiting[] = [];
  #nextTurn: Waiting[] = [];
  #goesOn = false;
  /** The sockets of the present turn have been read; its check phase comes next. */
  #polled = false;
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

  /** The process computes for so long; what comes meanwhile waits. */
  work(ms: number): void {
    if (ms <= 0) return;
    const { nowTicks } = this.scheduler;
    this.#busyUntilTicks = Math.max(nowTicks, this.#busyUntilTicks) + toTicks(ms);
  }

  get #busy(): boolean {
    return this.#goesOn || this.#busyUntilTicks > this.scheduler.nowTicks;
  }

  /** Hands over what has arrived: now, or at `resume`, or when the process is done with what came before. */
  deliver(phase: Phase, kind: string, callback: () => void): void {
    if (!this.#paused && !this.#busy) {
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
    this.#present = [];
    this.#checks = [];
    this.#nextTurn = [];
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
    if (this.#busy) {
      (waiting.phase === 'check' ? this.#checks : this.#nextTurn).push(waiting);
      this.#goOnLater();
      return;
    }
    this.#call(waiting);
  }

  #goOnLater(): void {
    if (this.#goesOn) return;
    this.#goesOn = true;
    const delayTicks = Math.max(0, this.#busyUntilTicks - this.scheduler.nowTicks);
    this.scheduler.schedule(delayTicks, this.kinds.of('busy'), { run: () => this.#goOn() });
  }

  /** One callback after another, each in an event of its own: promises settle in between, and work takes its time. */
  #goOn(): void {
    this.#goesOn = false;
    if (!this.#alive) return;
    if (this.#present.length === 0) this.#present = this.#nextPhase();
    const waiting = this.#present.pop();
    if (waiting !== undefined) this.#runNow(waiting);
    if (this.#present.length + this.#checks.length + this.#nextTurn.length > 0) this.#goOnLater();
  }

  /** In reverse, to be taken from its end. What a check phase asks for happens in the next turn, behind what has come meanwhile. */
  #nextPhase(): Waiting[] {
    const polls = this.#nextTurn.length > 0 && !(this.#polled && this.#checks.length > 0);
    this.#polled = polls;
    const phase = polls ? this.#nextTurn : this.#checks;
    if (polls) this.#nextTurn = [];
    else this.#checks = [];
    return phase.toSorted((a, b) => PHASE_ORDER[a.phase] - PHASE_ORDER[b.phase]).toReversed();
  }

  #runNow(waiting: Waiting): void {
    if (!this.#alive || waiting.cancelled) return;
    if (this.#paused) this.#parked.push(waiting);
    else this.#call(waiting);
  }

  #call(waiting: Waiting): void {
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
