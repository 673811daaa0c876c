/**
 * One host of a live run: the program on it, which is started, killed, stopped and paused, and what is known of how it ended. An end that
 * no fault explains is the run's failure: nothing is started again that ended by itself.
 */

import { readFileSync } from 'node:fs';
import { describeExit, type ProcessExit } from '@holdfast/ensemble';
import { ExitCode } from '@holdfast/lockd';
import { inTime } from '../../hang.ts';

/** A started program, however it was started. */
export interface Running {
  readonly pid: number | undefined;
  readonly exited: Promise<ProcessExit>;
  kill(): void;
  terminate(): void;
  pause(): void;
  resume(): void;
}

export interface MachineOptions {
  readonly host: string;
  readonly launch: () => Running;
  /** Whether it serves already; asked until it does. */
  readonly serves: (running: Running) => Promise<boolean>;
  readonly effect: (effect: 'kill' | 'restart' | 'terminated' | 'timer-late-after-pause') => void;
  /** Its process is gone. */
  readonly down: () => void;
  readonly failed: (name: string, message: string) => void;
  /** @default always */
  readonly mayStart?: () => boolean;
  /** Whether it ended since nobody needs it any more, and what a service manager does then. @default never */
  readonly leaves?: (exit: ProcessExit) => 'again' | 'for-good' | undefined;
}

type Life = 'running' | 'killed' | 'stopping' | 'paused-once';

interface Lived {
  readonly running: Running;
  /** What a fault has done to it: how it may end. */
  readonly done: Set<Life>;
  /** It has answered; one that never did has refused to start. */
  served: boolean;
  exit: ProcessExit | undefined;
}

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 30_000;
const SIGNAL_LIMIT_MS = 5_000;
/** One that waits for a hung disk ends by no signal before the disk answers, and on a busy machine that is late. */
const DISK_WAIT_LIMIT_MS = 30_000;
const LOOK_MS = 20;
/** What a service manager waits before it starts a failed process again. */
const RESTART_AFTER_MS = 500;

export class Machine {
  readonly #options: MachineOptions;
  #life: Lived | undefined;
  #starts = 0;
  #paused = false;
  /** A fault has been placed on its disk that may end it. */
  #diskTrouble = false;
  /** A fault has been placed on its disk that only makes it wait. */
  #diskWaits = false;
  /** What its log has acknowledged was damaged: it may end where it reads that, and repairs it when it starts. */
  #damaged = false;
  #unreadDamages = 0;
  /** It has cut its log where that was damaged, and has not got all of it back, as far as is known. */
  #repairs = false;
  #mends = false;
  /** Its disk is gone, and resolves when it is back. */
  #powerless: Promise<void> | undefined;
  /** A second process is on its directory, and resolves when it is gone. */
  #twin: Promise<void> | undefined;
  #starting: Promise<void> | undefined;
  /** What the harness itself has open on its disk. */
  readonly #touching = new Set<Promise<unknown>>();
  /** The run is over: how it ends now is nobody's concern. */
  #over = false;

  constructor(options: MachineOptions) {
    this.#options = options;
  }

  get host(): string {
    return this.#options.host;
  }

  /** Undefined while it is down. */
  get pid(): number | undefined {
    return this.#life?.running.pid;
  }

  get up(): boolean {
    return this.#life !== undefined && !this.#life.done.has('stopping');
  }

  /** Its process lives and has answered: whatever it needs for itself it has. */
  get served(): boolean {
    return this.up && this.#life?.served === true;
  }

  /** It serves and has all of its log, or is not to run at all. */
  get atRest(): boolean {
    const away = this.#life === undefined && this.#options.mayStart?.() === false;
    return away || (this.served && !this.#paused && !this.lacksLog);
  }

  get paused(): boolean {
    return this.#paused;
  }

  get starts(): number {
    return this.#starts;
  }

  /** Resolves when it serves; at once when it runs. Waits for one that was told to stop. */
  async start(): Promise<void> {
    if (this.#life?.done.has('stopping') === true) await this.#stopped(this.#life);
    if (this.#powerless !== undefined) await this.#powerless;
    if (this.#twin !== undefined) await this.#twin;
    if (this.#over || this.#options.mayStart?.() === false) return;
    if (this.#life === undefined) this.#starting = this.#launch().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  /** Resolves when it is gone. */
  async kill(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    life.done.add('killed');
    life.running.kill();
    const limitMs = this.#diskWaits ? DISK_WAIT_LIMIT_MS : SIGNAL_LIMIT_MS;
    const exit = await inTime(life.running.exited, limitMs);
    if (exit?.signal === 'SIGKILL') this.#options.effect('kill');
    else if (exit === undefined) this.#fail(`did not end within ${limitMs} ms of SIGKILL`);
  }

  terminate(): void {
    const life = this.#life;
    if (life === undefined || life.done.has('stopping')) return;
    life.done.add('stopping');
    life.running.terminate();
  }

  /** Resolves when nothing of it runs any more, as the system says. */
  async pause(): Promise<void> {
    const life = this.#life;
    if (life === undefined || this.#paused) return;
    this.#paused = true;
    life.running.pause();
    await until(() => stateOf(life.running.pid) !== 'running' || life.exit !== undefined, SIGNAL_LIMIT_MS);
    if (stateOf(life.running.pid) === 'stopped') life.done.add('paused-once');
  }

  async resume(): Promise<void> {
    if (!this.#paused) return;
    this.#paused = false;
    const life = this.#life;
    if (life === undefined) return;
    life.running.resume();
    const runs = await until(() => stateOf(life.running.pid) === 'running' || life.exit !== undefined, SIGNAL_LIMIT_MS);
    if (!runs) this.#fail(`does not run ${SIGNAL_LIMIT_MS} ms after SIGCONT`);
    else if (life.done.delete('paused-once')) this.#options.effect('timer-late-after-pause');
  }

  /** Whoever ends of its disk from now on, and says so, is started again, as a service manager would. */
  expectDiskTrouble(): void {
    this.#diskTrouble = true;
  }

  /** It may say from now on that its disk hangs, and may not end of that. */
  expectSlowDisk(): void {
    this.#diskWaits = true;
  }

  get diskWaits(): boolean {
    return this.#diskWaits;
  }

  /** Whoever ends of its log from now on is started again, and has to serve then. */
  expectDamage(): void {
    this.#damaged = true;
  }

  get damaged(): boolean {
    return this.#damaged;
  }

  /** Its log is about to be damaged: then it has to read that. */
  noteDamage(): void {
    this.#unreadDamages += 1;
  }

  /** There was nothing to damage. */
  noteUndamaged(): void {
    this.#unreadDamages -= 1;
  }

  noteDamageRead(): void {
    this.#unreadDamages -= 1;
    this.#repairs = true;
  }

  /** It says that it may vote, as one may not that lacks what it had acknowledged. */
  noteVotes(): void {
    this.#repairs = false;
  }

  /** It lacks what its log had acknowledged, or will as soon as it reads that. */
  get lacksLog(): boolean {
    return this.#unreadDamages > 0 || this.#repairs;
  }

  /** No damage is done to it any more. */
  get mends(): boolean {
    return this.#mends;
  }

  /** What is damaged it has to read, and repair, when it is started next: so it is killed where it has not. */
  async mend(): Promise<void> {
    this.#mends = true;
    await this.untouched();
    if (this.#unreadDamages > 0) await this.kill();
  }

  get diskTrouble(): boolean {
    return this.#diskTrouble;
  }

  /** Resolves when the process that it has now is gone; at once when it has none. */
  async gone(): Promise<void> {
    await this.#life?.running.exited;
  }

  /** A second process is started on its directory: none of its own is, until that has ended. */
  async beside(twin: () => Promise<void>): Promise<void> {
    const done = twin();
    const ended = done.then(
      () => undefined,
      () => undefined,
    );
    this.#twin = ended;
    try {
      await done;
    } finally {
      if (this.#twin === ended) this.#twin = undefined;
    }
  }

  /** The harness has files of its disk open until `work` has ended; it must not wait for its main thread. */
  async touching<T>(work: () => Promise<T>): Promise<T> {
    const done = work();
    this.#touching.add(done);
    try {
      return await done;
    } finally {
      this.#touching.delete(done);
    }
  }

  /** Resolves when the harness has nothing open on its disk any more, so that it can be unmounted. */
  async untouched(): Promise<void> {
    await Promise.allSettled(this.#touching);
  }

  /** Its disk is gone at the moment. */
  get powerless(): boolean {
    return this.#powerless !== undefined;
  }

  /** What ends it and gives it its disk back: until that is done it may end as it likes, and is not started. */
  async withoutPower(action: () => Promise<void>): Promise<void> {
    this.#diskTrouble = true;
    const done = action();
    this.#powerless = done.then(
      () => undefined,
      () => undefined,
    );
    try {
      await done;
    } finally {
      this.#powerless = undefined;
    }
  }

  /** For good. */
  async end(): Promise<void> {
    this.#over = true;
    const life = this.#life;
    if (life === undefined) return;
    if (this.#paused) life.running.resume();
    life.done.add('stopping');
    life.running.terminate();
    if ((await inTime(life.running.exited, STOP_LIMIT_MS)) !== undefined) return;
    life.running.kill();
    // One that waits for its disk ends when that is gone.
    await inTime(life.running.exited, SIGNAL_LIMIT_MS);
  }

  async #launch(): Promise<void> {
    const { launch, serves, effect } = this.#options;
    const running = launch();
    const life: Lived = { running, done: new Set(), served: false, exit: undefined };
    this.#life = life;
    this.#paused = false;
    this.#starts += 1;
    void running.exited.then((exit) => this.#ended(life, exit));
    const deadline = performance.now() + START_LIMIT_MS;
    while (life.exit === undefined && !(await serves(running))) {
      if (this.#over || life.done.size > 0) return;
      if (performance.now() > deadline && !this.#paused) {
        this.#fail(`does not serve ${START_LIMIT_MS} ms after its start`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    if (life.exit !== undefined) return;
    life.served = true;
    if (this.#starts > 1) effect('restart');
  }

  #ended(life: Lived, exit: ProcessExit): void {
    life.exit = exit;
    if (this.#life === life) {
      this.#life = undefined;
      this.#paused = false;
    }
    this.#options.down();
    if (this.#over) return;
    // One that has only just begun does not heed the signal yet.
    const endedAsTold = exit.code === 0 || (!life.served && exit.signal === 'SIGTERM');
    const stopped = life.done.has('stopping') && endedAsTold;
    const left = this.#options.leaves?.(exit);
    if (left === 'again') this.#startLater();
    if (left !== undefined) return;
    if (stopped) this.#options.effect('terminated');
    else if (this.#diskTrouble && exit.code === ExitCode.diskError) this.#startLater();
    else if (this.#damaged && life.served && exit.code === ExitCode.damagedData) this.#startLater();
    else if (!life.done.has('killed') || exit.signal !== 'SIGKILL') this.#fail(`ended: ${describeExit(exit)}`);
  }

  #startLater(): void {
    setTimeout(() => {
      this.start().catch((error: unknown) => this.#fail(`cannot be started: ${String(error)}`));
    }, RESTART_AFTER_MS).unref();
  }

  async #stopped({ running }: Lived): Promise<void> {
    if (this.#paused) await this.resume();
    if ((await inTime(running.exited, STOP_LIMIT_MS)) === undefined) {
      this.#fail(`has not ended ${STOP_LIMIT_MS} ms after SIGTERM`);
    }
  }

  #fail(problem: string): void {
    if (!this.#over) this.#options.failed('processes-end-only-by-faults', `${this.host} ${problem}`);
  }
}

async function until(condition: () => boolean, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return true;
}

/** As the kernel has it; where it cannot be asked, nobody knows. */
function stateOf(pid: number | undefined): 'running' | 'stopped' | 'unknown' {
  if (pid === undefined) return 'unknown';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before it may hold anything, spaces and brackets as well.
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T') ? 'stopped' : 'running';
  } catch {
    return 'unknown';
  }
}
