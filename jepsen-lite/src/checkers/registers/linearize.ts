/**
 * Whether one order explains what concurrent operations returned: each takes effect at one moment between its call and its return; one
 * that never returned, at some later moment or never. The search is Wing and Gong's with Lowe's refinements: an operation is ordered
 * only when the next one to return demands it, and what was found hopeless once is not tried again. It gives up after so many states.
 */

export interface RegisterOperation<S> {
  readonly invokedAt: number;
  /** Infinity: never, it may have had no effect. */
  readonly returnedAt: number;
  /** It leaves every state as it is. */
  readonly observes: boolean;
  /** The state after it; undefined where it cannot have returned what it did. */
  step(state: S): S | undefined;
}

export type Linearization<S, O extends RegisterOperation<S>> =
  | { readonly type: 'found'; readonly visited: number }
  | { readonly type: 'givenUp'; readonly visited: number }
  /** `stuck`: what could not be explained in the attempt that came furthest; `state`: as it was then, by `writer`. */
  | {
      readonly type: 'impossible';
      readonly visited: number;
      readonly stuck: O;
      readonly state: S;
      readonly writer: O | undefined;
    };

interface Node<S> {
  /** How many returns are explained. */
  readonly returns: number;
  readonly state: S;
  /** Numbers of operations that are ordered and have not returned, rising. */
  readonly ordered: readonly number[];
  /** Number of the last one that changed the state. */
  readonly writer: number;
}

const NOBODY = -1;

export function linearize<S, O extends RegisterOperation<S>>(
  operations: readonly O[],
  initial: S,
  keyOf: (state: S) => string,
  budget: number,
): Linearization<S, O> {
  const search = new Search(operations, keyOf);
  return search.run(initial, budget);
}

class Search<S, O extends RegisterOperation<S>> {
  /** By number: first those that returned, in that order; then the others, in the order of their calls. */
  readonly #operations: readonly O[];
  readonly #returned: number;
  /** For each return, the operations under way just before it that will return. */
  readonly #pending: readonly (readonly number[])[];
  readonly #keyOf: (state: S) => string;
  readonly #seen = new Set<string>();

  constructor(operations: readonly O[], keyOf: (state: S) => string) {
    const returned = operations.filter((operation) => operation.returnedAt !== Number.POSITIVE_INFINITY);
    const open = operations.filter((operation) => operation.returnedAt === Number.POSITIVE_INFINITY);
    returned.sort((left, right) => left.returnedAt - right.returnedAt);
    open.sort((left, right) => left.invokedAt - right.invokedAt);
    this.#operations = [...returned, ...open];
    this.#returned = returned.length;
    this.#pending = pendingAtReturns(returned);
    this.#keyOf = keyOf;
  }

  run(initial: S, budget: number): Linearization<S, O> {
    let furthest: Node<S> | undefined;
    const stack: Node<S>[] = [{ returns: 0, state: initial, ordered: [], writer: NOBODY }];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const node = this.#settle(next);
      if (node.returns === this.#returned) return { type: 'found', visited: this.#seen.size };
      const key = `${node.returns}|${node.ordered.join(',')}|${this.#keyOf(node.state)}`;
      if (this.#seen.has(key)) continue;
      if (this.#seen.size >= budget) return { type: 'givenUp', visited: this.#seen.size };
      this.#seen.add(key);
      if (furthest === undefined || node.returns > furthest.returns) furthest = node;
      stack.push(...this.#successors(node));
    }
    const visited = this.#seen.size;
    const stuck = this.#operations[furthest?.returns ?? 0];
    if (furthest === undefined || stuck === undefined) return { type: 'found', visited };
    return { type: 'impossible', visited, stuck, state: furthest.state, writer: this.#operations[furthest.writer] };
  }

  /** Passes the returns that are explained, and orders what only observes as soon as it fits: that rules nothing else out. */
  #settle({ returns: first, state, ordered: before, writer }: Node<S>): Node<S> {
    let returns = first;
    const ordered = new Set(before);
    while (returns < this.#returned) {
      for (const number of this.#pending[returns] ?? []) {
        const operation = this.#operations[number];
        if (operation?.observes === true && operation.step(state) !== undefined) ordered.add(number);
      }
      if (!ordered.delete(returns)) break;
      returns += 1;
    }
    return { returns, state, ordered: [...ordered].sort((left, right) => left - right), writer };
  }

  /** The most promising last. */
  #successors(node: Node<S>): Node<S>[] {
    const { returns, state, ordered } = node;
    const returnsAt = this.#operations[returns]?.returnedAt ?? 0;
    const successors: Node<S>[] = [];
    const consider = (number: number): void => {
      const operation = this.#operations[number];
      if (operation === undefined || operation.observes || ordered.includes(number)) return;
      const after = operation.step(state);
      if (after === undefined) return;
      const next = [...ordered, number].sort((left, right) => left - right);
      successors.push({ returns, state: after, ordered: next, writer: number });
    };
    for (let number = this.#returned; number < this.#operations.length; number += 1) {
      if ((this.#operations[number]?.invokedAt ?? 0) > returnsAt) break;
      consider(number);
    }
    for (const number of [...(this.#pending[returns] ?? [])].reverse()) consider(number);
    return successors;
  }
}

/** Rising, so that the one which returns is the first. */
function pendingAtReturns<S>(returned: readonly RegisterOperation<S>[]): number[][] {
  const byInvocation = returned
    .map((operation, number) => ({ number, invokedAt: operation.invokedAt }))
    .sort((left, right) => left.invokedAt - right.invokedAt);
  let position = 0;
  let pending: number[] = [];
  return returned.map((operation, returns) => {
    for (
      let next = byInvocation[position];
      next !== undefined && next.invokedAt < operation.returnedAt;
      next = byInvocation[position]
    ) {
      pending.push(next.number);
      position += 1;
    }
    pending = pending.filter((number) => number >= returns).sort((left, right) => left - right);
    return pending.slice();
  });
}
