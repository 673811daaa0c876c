/** A resource in memory that keeps every promise of the suite, and flaws that break one or some of them. */

import { checkHolder, checkScope, floorOf, StaleTokenError, type Holder } from '@holdfast/fence';
import type { FencedResource, SlowWrite } from '../../src/index.ts';

export const FLAWS = [
  'checks nothing',
  'checks, and writes later',
  'has a token for each cell',
  'ignores installs',
  'installs without looking',
  'compares as text',
  'compares in single precision',
  'refuses equal tokens',
  'takes writes without a token',
  'takes malformed tokens',
  'takes malformed floors',
  'has one token for all scopes',
  'takes tokens for floors',
  'lowers floors',
  'loses tokens in a restart',
  'loses tokens in a crash',
  'keeps half of a write in a crash',
  'writes what is rolled back',
  'forgets the token in a roll-back',
  'fails one of two at once',
  'does not install by writing',
  'forgets tokens after a while',
] as const;

/** No token is as old as that in a test, unless its clock jumps. */
const WHILE_MS = 60 * 60 * 1_000;

export type Flaw = (typeof FLAWS)[number];

interface Scope {
  /** By cell, where each has one; otherwise that of the scope is under ''. */
  readonly floors: Map<string, number>;
  readonly cells: Map<string, string>;
  /** When a token came last, by the clock of the process. */
  cameMs: number;
  /** The end of the transactions that are under way, in their order. */
  last: Promise<void>;
  underWay: number;
}

/** The server: what it keeps, and what it forgets. */
class Store {
  readonly #flaws: ReadonlySet<Flaw>;
  readonly #scopes = new Map<string, Scope>();
  #names = 0;
  /** Transactions of an earlier one are over. */
  incarnation = 0;

  constructor(...flaws: readonly Flaw[]) {
    this.#flaws = new Set(flaws);
  }

  has(flaw: Flaw): boolean {
    return this.#flaws.has(flaw);
  }

  name(): string {
    this.#names += 1;
    return `scope ${this.#names}`;
  }

  scope(name: string): Scope {
    const key = this.has('has one token for all scopes') ? '' : name;
    const known = this.#scopes.get(name);
    if (known !== undefined) return known;
    const floors = this.#scopes.get(key)?.floors ?? new Map<string, number>();
    const cells = new Map<string, string>();
    const scope = { floors, cells, cameMs: Date.now(), last: Promise.resolve(), underWay: 0 };
    if (key !== name && !this.#scopes.has(key)) this.#scopes.set(key, { ...scope, cells: new Map() });
    this.#scopes.set(name, scope);
    return scope;
  }

  stop(loses: boolean): void {
    this.incarnation += 1;
    for (const scope of this.#scopes.values()) {
      scope.last = Promise.resolve();
      scope.underWay = 0;
      if (loses) scope.floors.clear();
    }
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}

/** Waits for the transactions before, and gives what ends this one. */
async function enter(store: Store, scope: Scope): Promise<() => void> {
  if (store.has('checks, and writes later')) return () => undefined;
  const before = scope.last;
  let leave = (): void => undefined;
  scope.last = new Promise((resolve) => {
    leave = resolve;
  });
  scope.underWay += 1;
  if (store.has('fails one of two at once') && scope.underWay > 1) {
    scope.underWay -= 1;
    void before.then(leave);
    throw new Error('deadlock detected');
  }
  const { incarnation } = store;
  await before;
  return () => {
    if (store.incarnation === incarnation) scope.underWay -= 1;
    leave();
  };
}

class MemoryResource implements FencedResource {
  readonly cells = true;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  scope(): string {
    return this.#store.name();
  }

  async write(name: string, holder: Holder, value: string, cell = 'a'): Promise<void> {
    if (this.#store.has('takes writes without a token') && typeof holder !== 'object') {
      this.#store.scope(name).cells.set(cell, value);
      return;
    }
    const slow = await this.slowWrite(name, holder, value, cell);
    await turn();
    await slow.finish();
  }

  async read(name: string, _holder?: Holder, cell = 'a'): Promise<string | null> {
    await turn();
    return this.#store.scope(name).cells.get(cell) ?? null;
  }

  async install(name: string, holder: Holder): Promise<void> {
    this.#check(name, holder);
    if (this.#store.has('ignores installs')) return;
    const scope = this.#store.scope(name);
    const leave = await enter(this.#store, scope);
    try {
      await turn();
      const cells = this.#store.has('has a token for each cell') ? [...scope.cells.keys()] : [''];
      for (const cell of cells) {
        if (!this.#store.has('installs without looking')) this.#refuseStale(name, scope, holder, cell);
        this.#raise(scope, holder, cell);
      }
    } finally {
      leave();
    }
  }

  async slowWrite(name: string, holder: Holder, value: string, cell = 'a'): Promise<SlowWrite> {
    this.#check(name, holder);
    const scope = this.#store.scope(name);
    const place = this.#store.has('has a token for each cell') ? cell : '';
    const leave = await enter(this.#store, scope);
    const { incarnation } = this.#store;
    try {
      this.#refuseStale(name, scope, holder, place);
    } catch (error) {
      leave();
      throw error;
    }
    if (this.#store.has('keeps half of a write in a crash')) scope.cells.set(cell, value);
    await turn();
    return {
      finish: async () => {
        if (incarnation !== this.#store.incarnation) throw new Error('the server was stopped');
        if (!this.#store.has('does not install by writing')) this.#raise(scope, holder, place);
        scope.cells.set(cell, value);
        leave();
      },
      abandon: async () => {
        if (this.#store.has('writes what is rolled back')) scope.cells.set(cell, value);
        if (this.#store.has('forgets the token in a roll-back')) scope.floors.clear();
        leave();
      },
    };
  }

  async other(): Promise<FencedResource> {
    return new MemoryResource(this.#store);
  }

  async restart(): Promise<void> {
    this.#store.stop(this.#store.has('loses tokens in a restart'));
  }

  async crash(): Promise<void> {
    this.#store.stop(this.#store.has('loses tokens in a crash'));
  }

  #check(name: string, holder: Holder): void {
    checkScope(name);
    if (this.#store.has('takes malformed tokens')) return;
    if (this.#store.has('takes malformed floors')) checkHolder({ token: holder.token });
    else checkHolder(holder);
  }

  #refuseStale(name: string, scope: Scope, { token }: Holder, cell: string): void {
    const isOld = this.#store.has('forgets tokens after a while') && Date.now() - scope.cameMs > WHILE_MS;
    const highest = isOld ? 0 : (scope.floors.get(cell) ?? 0);
    if (this.#isStale(token, highest)) throw new StaleTokenError(name, token, highest);
  }

  #isStale(token: number, highest: number): boolean {
    if (this.#store.has('checks nothing')) return false;
    if (this.#store.has('refuses equal tokens')) return token <= highest;
    if (this.#store.has('compares as text')) return highest > 0 && String(token) < String(highest);
    if (this.#store.has('compares in single precision')) return Math.fround(token) < Math.fround(highest);
    return token < highest;
  }

  #raise(scope: Scope, holder: Holder, cell: string): void {
    const highest = scope.floors.get(cell) ?? 0;
    const floor = this.#store.has('takes tokens for floors') ? holder.token : floorOf(holder);
    const blind = this.#store.has('installs without looking') || this.#store.has('lowers floors');
    scope.cameMs = Date.now();
    scope.floors.set(cell, blind ? floor : Math.max(highest, floor));
  }
}

/** A resource of a store of its own; every call of what it gives opens a further connection to that. */
export function memoryResource(...flaws: readonly Flaw[]): () => Promise<FencedResource> {
  const store = new Store(...flaws);
  return async () => new MemoryResource(store);
}
