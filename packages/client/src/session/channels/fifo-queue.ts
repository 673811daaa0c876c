/** A first-in first-out queue without a shift of all its elements; elements may be given up in place. */

interface Droppable {
  readonly withdrawn: boolean;
}

const COMPACT_AT = 1_024;

export class FifoQueue<T extends Droppable> {
  #elements: T[] = [];
  #head = 0;
  #size = 0;

  /** Without those that were withdrawn. */
  get size(): number {
    return this.#size;
  }

  push(element: T): void {
    this.#elements.push(element);
    this.#size += 1;
  }

  /** The first element that was not withdrawn. */
  shift(): T | undefined {
    for (;;) {
      const element = this.#take();
      if (element === undefined) return undefined;
      if (element.withdrawn) continue;
      this.#size -= 1;
      return element;
    }
  }

  /** One element, wherever it is, has just been withdrawn. */
  withdrew(): void {
    this.#size -= 1;
    if (this.#size === 0) this.#reset();
    else if (this.#elements.length - this.#head > 2 * this.#size + COMPACT_AT) {
      this.#elements = this.#elements.slice(this.#head).filter((element) => !element.withdrawn);
      this.#head = 0;
    }
  }

  /** Takes all. */
  drain(): T[] {
    const rest = this.#elements.slice(this.#head).filter((element) => !element.withdrawn);
    this.#reset();
    return rest;
  }

  #take(): T | undefined {
    const element = this.#elements[this.#head];
    if (element === undefined) {
      this.#reset();
      return undefined;
    }
    this.#head += 1;
    if (this.#head >= COMPACT_AT && this.#head * 2 >= this.#elements.length) {
      this.#elements = this.#elements.slice(this.#head);
      this.#head = 0;
    }
    return element;
  }

  #reset(): void {
    if (this.#elements.length > 0) this.#elements = [];
    this.#head = 0;
    this.#size = 0;
  }
}
