/** Makes operations of the calls of a recorded run: when each was called and returned, and on which line of its file it stands. */

import type { Call } from '../calls.ts';
import type { History, HistoryEvent } from '../history.ts';
import type { Operation, Value } from './operation.ts';

/** Before the first event, in a file of the history. */
const HEADER_LINES = 1;
const NEVER = Number.POSITIVE_INFINITY;

/** What a call is to the model. */
interface Meaning {
  readonly key: string;
  /** @default as the call is named */
  readonly f?: string;
  /** @default its process */
  readonly client?: string;
  readonly input?: Value;
  readonly output?: Value;
}

/** What may have happened at any time after an event, or never. */
interface OpenMeaning {
  /** @default objects of all keys */
  readonly key?: string;
  readonly f: string;
  readonly client: string;
  readonly input?: Value;
}

export class Operations {
  readonly list: Operation[] = [];
  readonly #lines: ReadonlyMap<number, number>;

  constructor(history: History) {
    this.#lines = new Map(history.map(({ seq }, place) => [seq, place + 1 + HEADER_LINES]));
  }

  /** Nothing, when the call had no effect and never will have. */
  add({ invoke, completion }: Pick<Call, 'invoke' | 'completion'>, meaning: Meaning): void {
    if (completion?.type === 'fail') return;
    this.#push(invoke, meaning, completion?.type === 'ok' ? completion.seq : NEVER);
  }

  /** One whose refusal tells of the state of the object: `output` says what. */
  addAnswered(call: { readonly invoke: Call['invoke']; readonly completion: HistoryEvent }, meaning: Meaning): void {
    this.#push(call.invoke, meaning, call.completion.seq);
  }

  #push(invoke: Call['invoke'], meaning: Meaning, returnedAt: number): void {
    this.list.push({
      line: this.#lineOf(invoke),
      process: invoke.process,
      client: meaning.client ?? invoke.process,
      f: meaning.f ?? invoke.f,
      key: meaning.key,
      input: meaning.input ?? null,
      output: meaning.output ?? null,
      invokedAt: invoke.seq,
      returnedAt,
    });
  }

  /** What was found without a call, between two events: it was there when the later one was recorded. */
  addFound(
    from: HistoryEvent,
    to: HistoryEvent,
    { key, f, output }: Required<Pick<Meaning, 'key' | 'f' | 'output'>>,
  ): void {
    const { process } = to;
    const found = { process, client: process, f, key, input: null, output };
    this.list.push({ line: this.#lineOf(to), ...found, invokedAt: from.seq, returnedAt: to.seq });
  }

  addOpen(after: HistoryEvent, { key, f, client, input = null }: OpenMeaning): void {
    this.list.push({
      line: this.#lineOf(after),
      process: after.process,
      client,
      f,
      key,
      input,
      output: null,
      invokedAt: after.seq,
      returnedAt: NEVER,
    });
  }

  #lineOf({ seq }: HistoryEvent): number {
    return this.#lines.get(seq) ?? 0;
  }
}
