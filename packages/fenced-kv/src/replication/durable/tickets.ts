/** Promises of what clients have asked of a primary, by the number that the core knows them under. */
export class Tickets {
  readonly #waiting = new Map<number, { readonly resolve: () => void; readonly reject: (error: Error) => void }>();
  #next = 1;

  /** `ended` may be left alone: that it rejects is no failure of the process. */
  draw(): { readonly ticket: number; readonly ended: Promise<void> } {
    const ticket = this.#next;
    this.#next += 1;
    const ended = new Promise<void>((resolve, reject) => {
      this.#waiting.set(ticket, { resolve, reject });
    });
    ended.catch(() => {});
    return { ticket, ended };
  }

  done(ticket: number): void {
    this.#waiting.get(ticket)?.resolve();
    this.#waiting.delete(ticket);
  }

  failed(tickets: readonly number[], error: Error): void {
    for (const ticket of tickets) {
      this.#waiting.get(ticket)?.reject(error);
      this.#waiting.delete(ticket);
    }
  }

  failAll(error: Error): void {
    this.failed([...this.#waiting.keys()], error);
  }
}
