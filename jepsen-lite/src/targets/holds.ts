/** What several faults may hold at once, a link cut or a process paused: it comes back when the last of them lets go. */
export class Holds {
  readonly #counts = new Map<string, number>();

  hold(what: string, begin: () => void): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
    begin();
  }

  /** Nothing, when everything was let go of in between. */
  letGo(what: string, end: () => void): void {
    const count = this.#counts.get(what);
    if (count === undefined) return;
    if (count > 1) {
      this.#counts.set(what, count - 1);
      return;
    }
    this.#counts.delete(what);
    end();
  }

  letGoOfAll(): void {
    this.#counts.clear();
  }
}
