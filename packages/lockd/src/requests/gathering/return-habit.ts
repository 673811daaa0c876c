/** With so many points a client is waited for. */
const PROMPT = 4;
/** Nobody has more: two late returns in a row end every habit. */
const MAX_POINTS = 8;
/** What a late return costs, in prompt ones: who is late one time in four is never waited for. */
const LATE_COST = 3;

/** Whether a client that has just been answered sends its next request at once, judged by the last times. */
export class ReturnHabit {
  /** The gathering that waits for this client; see ProposalGate. */
  expectedIn = 0;
  #answeredAtMs: number | undefined;
  #points = 0;

  get isPrompt(): boolean {
    return this.#points >= PROMPT;
  }

  /** It has no unanswered request any more. */
  answered(nowMs: number): void {
    this.#answeredAtMs = nowMs;
  }

  /** A request has come. In time: less than `patienceMs` after the answer. */
  returned(nowMs: number, patienceMs: number): void {
    if (this.#answeredAtMs === undefined) return;
    const inTime = nowMs - this.#answeredAtMs < patienceMs;
    this.#points = inTime ? Math.min(this.#points + 1, MAX_POINTS) : Math.max(this.#points - LATE_COST, 0);
    this.#answeredAtMs = undefined;
  }
}
