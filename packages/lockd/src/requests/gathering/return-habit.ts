/** So many times in a row must a client have come back in time before anybody waits for it. */
const PROMPT_RETURNS = 4;

/** Whether a client that has just been answered sends its next request at once, judged by the last times. */
export class ReturnHabit {
  /** The gathering that waits for this client; see ProposalGate. */
  expectedIn = 0;
  #answeredAtMs: number | undefined;
  #promptReturns = 0;

  get isPrompt(): boolean {
    return this.#promptReturns >= PROMPT_RETURNS;
  }

  /** It has no unanswered request any more. */
  answered(nowMs: number): void {
    this.#answeredAtMs = nowMs;
  }

  /** A request has come. In time: less than `patienceMs` after the answer. */
  returned(nowMs: number, patienceMs: number): void {
    if (this.#answeredAtMs === undefined) return;
    const inTime = nowMs - this.#answeredAtMs < patienceMs;
    this.#promptReturns = inTime ? Math.min(this.#promptReturns + 1, PROMPT_RETURNS) : 0;
    this.#answeredAtMs = undefined;
  }
}
