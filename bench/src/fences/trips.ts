/**
 * How often a write goes to its server and back. Those that are under way at the same time are one wait. What is sent behind the answer (a
 * setting that is put back) is sent, and not waited for.
 */

export interface TripCount {
  readonly sent: number;
  readonly waited: number;
}

export class Trips {
  #sent = 0;
  #waits = 0;
  #underWay = 0;
  #idle: () => void = () => undefined;

  /** Something was sent; what is returned is called when its answer is there. */
  begin(): () => void {
    this.#sent += 1;
    if (this.#underWay === 0) this.#waits += 1;
    this.#underWay += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#idle();
    };
  }

  async during<Result>(sending: () => Promise<Result>): Promise<Result> {
    const end = this.begin();
    try {
      return await sending();
    } finally {
      end();
    }
  }

  /** Of one write, while there is no other. */
  async of(write: () => Promise<unknown>): Promise<TripCount> {
    const [sentBefore, waitsBefore] = [this.#sent, this.#waits];
    await write();
    const waited = this.#waits - waitsBefore - (this.#underWay > 0 ? 1 : 0);
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    this.#idle = () => undefined;
    return { sent: this.#sent - sentBefore, waited };
  }
}
