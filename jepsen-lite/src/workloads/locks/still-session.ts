/**
 * A session that stands still when it is told to, as a process does that a signal has stopped: none of its timers fires, so that it renews nothing,
 * though time goes on. Afterwards all that were due fire at once. Faults do that to whole hosts, and do not always meet one that holds a lock.
 */

import { connect } from '@holdfast/client';
import type { Clock, Timer } from '@holdfast/runtime';
import type { ClientSession } from '../workload.ts';

/** As long as the application's own session may take. */
const CONNECT_TIMEOUT_MS = 300_000;

/** Timers that can be made to wait. */
class StoppableClock implements Clock {
  readonly #clock: Clock;
  #stopped = false;
  /** Those that were due meanwhile, in that order. */
  readonly #due = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  stop(): void {
    this.#stopped = true;
  }

  goOn(): void {
    this.#stopped = false;
    const due = [...this.#due];
    for (const fire of due) if (this.#due.delete(fire)) fire();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const fire = (): void => callback();
    const timer = this.#clock.setTimer(delayMs, () => {
      if (this.#stopped) this.#due.add(fire);
      else fire();
    });
    return {
      cancel: () => {
        timer.cancel();
        this.#due.delete(fire);
      },
    };
  }

  afterPoll(callback: () => void): void {
    this.#clock.afterPoll(callback);
  }
}

export interface StillSession extends ClientSession {
  /** Resolves after so long, during which it has stood still. */
  readonly standStill: (ms: number) => Promise<void>;
}

/** Does something in a session of its own, beside that of the application, and closes it. */
export async function inOwnSession(
  { plan, calls, runtime, world, ...rest }: ClientSession,
  use: (own: StillSession) => Promise<void>,
): Promise<void> {
  const { sessionTimeoutMs } = plan;
  const clock = new StoppableClock(runtime.clock);
  const client = await connect(
    { servers: world.servers(), sessionTimeoutMs, label: plan.name, connectTimeoutMs: CONNECT_TIMEOUT_MS },
    { ...runtime, clock },
  );
  const session = client.sessionId;
  calls.record({ type: 'session', event: 'connected', session, timeoutMs: sessionTimeoutMs });
  const standStill = async (ms: number): Promise<void> => {
    clock.stop();
    await rest.sleep(ms);
    clock.goOn();
  };
  await use({ ...rest, plan, calls, runtime, world, client, standStill });
  await client.close();
  calls.record({ type: 'session', event: client.state === 'expired' ? 'expired' : 'closed', session });
}
