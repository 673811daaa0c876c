/** Tells small histories by hand: each step says what is recorded, and returns it, so that a test can name it as a witness. */

import type { EndReason, LockRequest } from '@holdfast/protocol';

import type { EventOf } from '../../src/history/calls.ts';
import type { History, HistoryEvent, HistoryEventBody, Operation, RemovalReason } from '../../src/history/history.ts';
import { HistoryRecorder } from '../../src/history/recorder.ts';

/** A call that was invoked, and how to complete it. */
export interface Asked {
  readonly call: number;
  readonly invoke: HistoryEvent;
  readonly ok: (result?: Readonly<Record<string, unknown>>) => HistoryEvent;
  readonly fail: (code: string, more?: Readonly<Record<string, unknown>>) => HistoryEvent;
  readonly info: (code?: string) => HistoryEvent;
}

/** A hold that somebody was told of. */
export interface ReportedHold {
  readonly lock: string;
  readonly session: number;
  readonly hold: number;
  readonly token: number;
  /** Undefined of a mutex. */
  readonly asked?: LockRequest;
  readonly enqueued: HistoryEvent;
  readonly granted: HistoryEvent;
  readonly invoke: HistoryEvent;
  readonly ok: HistoryEvent;
}

type Named = Pick<ReportedHold, 'lock' | 'session' | 'token' | 'hold'>;

/** An entry that somebody was told of. */
interface Entered extends Named {
  readonly owner: string;
  readonly invoke: HistoryEvent;
  readonly ok: HistoryEvent;
}

function askedBy(asked: LockRequest | undefined): { readonly asked?: LockRequest } {
  return asked === undefined ? {} : { asked };
}

export class Story {
  readonly #recorder = new HistoryRecorder();
  #nowMs = 0;
  #index = 10;

  get history(): History {
    return this.#recorder.events;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  record<B extends HistoryEventBody>(body: B, process = 'c1'): EventOf<B['type']> {
    return this.#recorder.record(process, this.#nowMs, { ...body }) as EventOf<B['type']>;
  }

  ask(operation: Operation, process = 'session' in operation ? `c${operation.session}` : 'c1'): Asked {
    const call = this.#recorder.nextCall();
    const complete = (body: object): HistoryEvent =>
      this.record({ call, ...operation, ...body } as HistoryEventBody, process);
    return {
      call,
      invoke: complete({ type: 'invoke' }),
      ok: (result = {}) => complete({ type: 'ok', ...result }),
      fail: (code, more = {}) => complete({ type: 'fail', code, ...more }),
      info: (code = 'TIMEOUT') => complete({ type: 'info', code }),
    };
  }

  // What servers do

  nextIndex(): number {
    this.#index += 1;
    return this.#index;
  }

  enqueue(lock: string, session: number, index = this.nextIndex(), asked?: LockRequest): EventOf<'enqueued'> {
    return this.record({ type: 'enqueued', index, lock, session, hold: index, ...askedBy(asked) }, 's1');
  }

  grant(lock: string, session: number, hold: number, index = hold, asked?: LockRequest): EventOf<'granted'> {
    return this.record({ type: 'granted', index, lock, session, hold, token: index, ...askedBy(asked) }, 's1');
  }

  remove(
    { lock, session, hold }: { readonly lock: string; readonly session: number; readonly hold: number },
    reason: RemovalReason,
    index = this.nextIndex(),
  ): EventOf<'removed'> {
    return this.record({ type: 'removed', index, lock, session, hold, reason }, 's1');
  }

  end(session: number, reason: EndReason, index = this.nextIndex()): EventOf<'ended-session'> {
    return this.record({ type: 'ended-session', index, session, reason }, 's1');
  }

  // What applications see

  /** The whole of an acquire of a lock that is free, or that may be held beside others. */
  acquire(lock: string, session: number, asked?: LockRequest): ReportedHold {
    const call = this.ask({ f: 'acquire', lock, session, ...askedBy(asked) });
    const enqueued = this.enqueue(lock, session, this.nextIndex(), asked);
    const { hold } = enqueued;
    const granted = this.grant(lock, session, hold, hold, asked);
    const ok = call.ok({ token: granted.token, hold });
    const { token } = granted;
    return { lock, session, hold, token, ...askedBy(asked), enqueued, granted, invoke: call.invoke, ok };
  }

  /** The whole of a downgrade. */
  downgrade({ lock, session, token, hold }: Named): { readonly invoke: HistoryEvent; readonly logged: HistoryEvent } {
    const asked = this.ask({ f: 'downgrade', lock, session, token, hold });
    const logged = this.record({ type: 'downgraded', index: this.nextIndex(), lock, session, hold }, 's1');
    asked.ok();
    return { invoke: asked.invoke, logged };
  }

  /** Enters a lock that its owner has, or is granted now. */
  enter(lock: string, session: number, owner: string, hold: Pick<ReportedHold, 'token' | 'hold'>): Entered {
    const asked = this.ask({ f: 'enter', lock, session, owner, limit: 3 });
    const ok = asked.ok({ token: hold.token, hold: hold.hold });
    return { lock, session, owner, token: hold.token, hold: hold.hold, invoke: asked.invoke, ok };
  }

  /** `log`: what the servers do meanwhile. */
  leave({ lock, session, owner, token, hold }: Entered, log = (): void => {}): Asked {
    const asked = this.ask({ f: 'leave', lock, session, owner, token, hold });
    log();
    asked.ok();
    return asked;
  }

  believe({ lock, session, token, hold }: Named): HistoryEvent {
    return this.record({ type: 'believe', lock, session, token, hold }, `c${session}`);
  }

  lose({ lock, session, token, hold }: Named, reason: EndReason): HistoryEvent {
    return this.record({ type: 'lost', lock, session, token, hold, reason }, `c${session}`);
  }

  /** The whole of a release. */
  release({ lock, session, token, hold }: Named): { readonly invoke: HistoryEvent; readonly ok: HistoryEvent } {
    const asked = this.ask({ f: 'release', lock, session, token, hold });
    this.remove({ lock, session, hold }, 'released');
    return { invoke: asked.invoke, ok: asked.ok() };
  }

  quiet(): HistoryEvent {
    return this.record({ type: 'phase', phase: 'quiet' }, 'harness');
  }
}

/** The numbers of events, as a verdict names its witnesses. */
export function witnesses(...events: readonly HistoryEvent[]): number[] {
  return events.map((event) => event.seq).sort((left, right) => left - right);
}
