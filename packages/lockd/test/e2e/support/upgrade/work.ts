/** What clients do while servers are replaced: works of several kinds, each in rounds, and each with its own idea of what must be true. */

import { until } from '../lockd-process.ts';
import type { Clients } from './clients.ts';

export interface Work {
  /** What it is, for messages. */
  readonly name: string;
  /** Makes what the rounds need. */
  begin(clients: Clients): Promise<void>;
  round(): Promise<void>;
  /** After the last round: nothing is lost, and nothing was done twice. */
  check(): Promise<void>;
}

/** Time to think between two rounds, so that the servers have some of the processor. */
const THINK_MS = 30;

export class WorkError extends Error {
  constructor(work: string, when: string, cause: unknown) {
    super(`"${work}" failed ${when}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'WorkError';
  }
}

/** What fails is told under the name of the work. */
async function under(work: string, when: string, part: () => Promise<void>): Promise<void> {
  try {
    await part();
  } catch (error) {
    throw new WorkError(work, when, error);
  }
}

class Running {
  readonly work: Work;
  error: WorkError | undefined;
  /** Rounds. */
  begun = 0;
  done = 0;
  readonly #end: Promise<void>;
  #stopped = false;

  constructor(work: Work) {
    this.work = work;
    this.#end = this.#run();
  }

  stop(): Promise<void> {
    this.#stopped = true;
    return this.#end;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.begun += 1;
      try {
        await under(this.work.name, `in round ${this.begun}`, () => this.work.round());
      } catch (error) {
        this.error = error as WorkError;
        return;
      }
      this.done += 1;
      await new Promise((resolve) => setTimeout(resolve, THINK_MS));
    }
  }
}

export class UpgradeLoad {
  readonly #running: readonly Running[];
  readonly #dear: readonly Work[];
  #dearRounds = 0;

  private constructor(works: readonly Work[], dear: readonly Work[]) {
    this.#running = works.map((work) => new Running(work));
    this.#dear = dear;
  }

  /** `dear`: works that would take most of the processor, if a round followed upon the other; see {@link UpgradeLoad.dearRound}. */
  static async on(clients: Clients, works: readonly Work[], dear: readonly Work[] = []): Promise<UpgradeLoad> {
    await Promise.all([...works, ...dear].map((work) => under(work.name, 'to begin', () => work.begin(clients))));
    return new UpgradeLoad(works, dear);
  }

  /** How many rounds of each work are done. */
  get rounds(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#running.map(({ work, done }) => [work.name, done]));
  }

  /** Resolves when every work has done a round that it began after this call. Rejects when one has failed, or is stuck. */
  async progress(): Promise<void> {
    const wanted = new Map(this.#running.map((running) => [running, running.begun + 1]));
    const late = (): Running[] => this.#running.filter((running) => running.done < (wanted.get(running) ?? 0));
    await until(() => this.#errors.length > 0 || late().length === 0).catch((cause: unknown) => {
      const stuck = late().map(({ work, begun }) => `"${work.name}" in round ${begun}`);
      throw new Error(`stuck: ${stuck.join(', ')}`, { cause });
    });
    this.#throwErrors();
  }

  /** Ends the rounds, and then holds each work to what must be true. */
  async finish(): Promise<void> {
    await this.stop();
    this.#throwErrors();
    for (const { work, done } of this.#running) await check(work, done);
    for (const work of this.#dear) await check(work, this.#dearRounds);
  }

  /** One round of each dear work. */
  async dearRound(): Promise<void> {
    this.#dearRounds += 1;
    const when = `in round ${this.#dearRounds}`;
    await Promise.all(this.#dear.map((work) => under(work.name, when, () => work.round())));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((running) => running.stop()));
  }

  get #errors(): WorkError[] {
    return this.#running.flatMap(({ error }) => error ?? []);
  }

  #throwErrors(): void {
    const [first, ...rest] = this.#errors;
    if (first === undefined) return;
    if (rest.length === 0) throw first;
    const errors = [first, ...rest];
    throw new AggregateError(errors, errors.map(({ message }) => message).join('; '));
  }
}

function check(work: Work, rounds: number): Promise<void> {
  return under(work.name, `its check after ${rounds} rounds`, () => work.check());
}
