/** Points from which on a client is waited for. */
const PROMPT = 4;
/** Nobody has more: after two late returns in a row nobody is waited for. */
const MAX_POINTS = 8;
/** What a late return costs, in prompt ones: who is late one time in four is never waited for. */
const LATE_COST = 3;

/** Whether a client thinks for less than a commit takes between an answer and its next request, judged by the last times. */
export class ClientThinkTime {
  /** The batch that waits for this client; see CommitBatcher. */
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

  /** A request has come. In time: less than `limitMs` after the answer. */
  returned(nowMs: number, limitMs: number): void {
    if (this.#answeredAtMs === undefined) return;
    const inTime = nowMs - this.#answeredAtMs < limitMs;
    this.#points = inTime ? Math.min(this.#points + 1, MAX_POINTS) : Math.max(this.#points - LATE_COST, 0);
    this.#answeredAtMs = undefined;
  }
}
