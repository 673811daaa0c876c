/** A command or a query with one promise for its answer, a limit of time, and an AbortSignal. */

import type { Answer, Command, Consistency, Query, Reply } from '@holdfast/protocol';
import { TimeoutError, type HoldfastError } from '../errors.ts';
import { errorFromServer } from '../server-error.ts';
import type { AnswerSource } from './answer-source.ts';
import type { Asker } from './asker.ts';
import { Read } from './reads.ts';
import { Request } from './request.ts';
import type { Session } from './session.ts';
import { Settlement } from './settlement.ts';
import type { Limited } from './time-limits.ts';

export interface CallOptions {
  /**
   * How long to wait for the answer. A write that was sent by then may still take effect, and the TimeoutError is `indeterminate`.
   * @default the client's `requestTimeoutMs`
   */
  readonly timeoutMs?: number;
  /** Gives up waiting, with the signal's reason; a write that was sent by then may still take effect. */
  readonly signal?: AbortSignal;
}

type Resolve<T> = (value: T) => void;
type Reject = (reason: unknown) => void;

export interface CommandOptions extends CallOptions {
  /** It gives something back: when nobody waits for the answer any more it is sent all the same, whenever that can be. @default false */
  readonly mustBeSent?: boolean;
}

/** Resolves with the answer; rejects with what an answer `error` stands for. */
export function callCommand(
  session: Session,
  command: Command,
  what: string,
  options: CommandOptions = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => new CommandCall(session, command, what, options, resolve, reject).start());
}

export interface QueryOptions extends CallOptions {
  /** @default 'linearizable' */
  readonly consistency?: Consistency;
  /** Is told where the answer comes from, before the call resolves. */
  readonly onAnswer?: (source: AnswerSource) => void;
}

/** Resolves with the answer; rejects with what an answer `error` stands for. */
export function callQuery(asker: Asker, query: Query, what: string, options: QueryOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => new QueryCall(asker, query, what, options, resolve, reject).start());
}

class CommandCall extends Request implements Limited {
  readonly #session: Session;
  readonly #what: string;
  readonly #mustBeSent: boolean;
  readonly #resolve: Resolve<Reply>;
  readonly #reject: Reject;
  readonly #settlement: Settlement;
  readonly expiresAtMs: number;

  constructor(
    session: Session,
    command: Command,
    what: string,
    options: CommandOptions,
    resolve: Resolve<Reply>,
    reject: Reject,
  ) {
    super(command);
    this.#session = session;
    this.#what = what;
    this.#mustBeSent = options.mustBeSent ?? false;
    this.#resolve = resolve;
    this.#reject = reject;
    this.expiresAtMs = session.limitAtMs(options.timeoutMs);
    this.#settlement = new Settlement(session, this, options.signal, (reason) => this.#giveUp(() => reason));
  }

  start(): void {
    this.#settlement.start(this.#reject, () => this.#session.submit(this, this.#mustBeSent));
  }

  answered(reply: Reply): void {
    if (!this.#settlement.settle()) return;
    if (reply.type === 'error') this.#reject(errorFromServer(reply.code, `${this.#what}: ${reply.message}`));
    else this.#resolve(reply);
  }

  failed(error: HoldfastError): void {
    if (this.#settlement.settle()) this.#reject(error);
  }

  expire(): void {
    const isSent = this.number !== 0;
    this.#giveUp((mayTakeEffect) => {
      return new TimeoutError(timeoutText(this.#what, this.#session, isSent), { indeterminate: mayTakeEffect });
    });
  }

  /** What was sent, or will be, goes on to its answer, which nobody waits for. */
  #giveUp(reason: (sent: boolean) => unknown): void {
    if (!this.#settlement.settle()) return;
    this.#reject(reason(this.#mustBeSent || !this.#session.withdraw(this)));
  }
}

class QueryCall extends Read implements Limited {
  readonly #asker: Asker;
  readonly #what: string;
  readonly #onAnswer: QueryOptions['onAnswer'];
  readonly #resolve: Resolve<Answer>;
  readonly #reject: Reject;
  readonly #settlement: Settlement;
  readonly expiresAtMs: number;

  constructor(
    asker: Asker,
    query: Query,
    what: string,
    options: QueryOptions,
    resolve: Resolve<Answer>,
    reject: Reject,
  ) {
    super(query, options.consistency ?? 'linearizable');
    this.#asker = asker;
    this.#what = what;
    this.#onAnswer = options.onAnswer;
    this.#resolve = resolve;
    this.#reject = reject;
    this.expiresAtMs = asker.limitAtMs(options.timeoutMs);
    this.#settlement = new Settlement(asker, this, options.signal, (reason) => this.#giveUp(reason));
  }

  start(): void {
    this.#settlement.start(this.#reject, () => this.#asker.submitRead(this));
  }

  answered(answer: Answer, source: AnswerSource): void {
    if (!this.#settlement.settle()) return;
    this.#onAnswer?.(source);
    if (answer.type === 'error') this.#reject(errorFromServer(answer.code, `${this.#what}: ${answer.message}`));
    else this.#resolve(answer);
  }

  failed(error: HoldfastError): void {
    if (this.#settlement.settle()) this.#reject(error);
  }

  expire(): void {
    this.#giveUp(new TimeoutError(timeoutText(this.#what, this.#asker, this.id !== 0), { indeterminate: false }));
  }

  #giveUp(reason: unknown): void {
    if (!this.#settlement.settle()) return;
    this.#asker.withdrawRead(this);
    this.#reject(reason);
  }
}

function timeoutText(what: string, asker: Pick<Asker, 'describe'>, sent: boolean): string {
  return `${what}: no answer in time (${asker.describe()}); the request was ${sent ? '' : 'not '}sent`;
}
