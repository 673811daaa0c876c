/**
 * acquire → install → read → write, where the only atomic step is to replace a manifest that is still the one that was read. The install is
 * such a step: from then on whoever has read the manifest before it cannot publish any more, and reads the higher floor when it tries again.
 */

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { FenceError, floorOf, StaleTokenError, type Holder } from '@holdfast/fence';
import { checkBody, withLimit, type Cutoff } from '@holdfast/fence/adapter';
import { EMPTY, following, MAX_RECENT, type Manifest, type ManifestFile } from './manifest.ts';
import { LIMIT, type InstallOptions } from './options.ts';
import type { Loaded, ManifestStore } from './store.ts';
import { Outdated, type Transaction, type TransactionOf } from './transaction.ts';

/** The decisions that make a fence. Tests put broken ones in their place. */
export interface Rules {
  readonly refuses: (manifest: Manifest, holder: Holder) => boolean;
  /** What is told to the resource before the body reads; 0: nothing. */
  readonly installs: (holder: Holder) => number;
  /** The manifest that must still be the current one. */
  readonly condition: (store: ManifestStore, scope: string, read: Loaded | undefined) => Promise<Loaded | undefined>;
}

export const RULES: Rules = {
  refuses: (manifest, holder) => holder.token < manifest.floor,
  installs: floorOf,
  condition: async (_store, _scope, read) => read,
};

/** How often one manifest is sent again whose answer was lost, before its outcome counts as unknown. */
const MAX_SENDS = 3;
/** The longest pause before a body is run again, in milliseconds. */
const MAX_PAUSE_MS = 200;

export interface FenceCall<Store extends ManifestStore> {
  readonly store: Store;
  readonly rules: Rules;
  readonly scope: string;
  readonly holder: Holder;
  readonly options: InstallOptions;
}

/** Installs the floor of the holder, unless it is there already. */
export async function installBy<Store extends ManifestStore>(of: FenceCall<Store>): Promise<void> {
  await withCall('install', of, (call) => call.install());
}

/** Runs the body, more than once where others publish meanwhile, until what it wrote is published or refused. */
export async function fenceBy<Store extends ManifestStore, Tx extends Transaction<Store>, Result>(
  of: FenceCall<Store>,
  open: (of: TransactionOf<Store>) => Tx,
  body: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  checkBody(body);
  return await withCall('fence', of, async (call) => {
    for (;;) {
      const outcome = await call.attempt(open, body);
      if (outcome !== undefined) return outcome.result;
      await call.pause();
    }
  });
}

async function withCall<Store extends ManifestStore, Result>(
  what: 'fence' | 'install',
  of: FenceCall<Store>,
  run: (call: Call<Store>) => Promise<Result>,
): Promise<Result> {
  return await withLimit(what, LIMIT, of, (cutoff, waitMs) => run(new Call(of, cutoff, waitMs)));
}

class Call<Store extends ManifestStore> {
  readonly #of: FenceCall<Store>;
  readonly #cutoff: Cutoff;
  readonly #waitMs: number;
  readonly #endsAt: number;
  #conflicts = 0;

  constructor(of: FenceCall<Store>, cutoff: Cutoff, waitMs: number) {
    this.#of = of;
    this.#cutoff = cutoff;
    this.#waitMs = waitMs;
    this.#endsAt = performance.now() + waitMs;
  }

  /** @returns the manifest with the holder's floor, or a higher one that it is not below */
  async install(): Promise<Loaded | undefined> {
    const { rules, holder } = this.#of;
    const told = rules.installs(holder);
    for (;;) {
      const found = await this.#load();
      if ((found?.manifest ?? EMPTY).floor >= told) return found;
      if (!(await this.#publish(found, told))) await this.pause();
    }
  }

  /** Undefined: another has published meanwhile, and the body is to be run again. */
  async attempt<Tx extends Transaction<Store>, Result>(
    open: (of: TransactionOf<Store>) => Tx,
    body: (tx: Tx) => Promise<Result>,
  ): Promise<{ readonly result: Result } | undefined> {
    const { store, scope, holder } = this.#of;
    const found = await this.install();
    const { signal } = this.#cutoff;
    const tx = open({ store, scope, token: holder.token, manifest: found?.manifest ?? EMPTY, signal });
    try {
      const result = await this.#cutoff.race(body(tx));
      const files = await this.#cutoff.race(tx.end());
      this.#cutoff.throwIfAborted();
      holder.assertHeld?.();
      if (files === undefined) return { result };
      return (await this.#publish(found, floorOf(holder), files)) ? { result } : undefined;
    } catch (error) {
      // Data are collected once a newer manifest does without them.
      if (error instanceof Outdated && (await this.#load())?.version !== found?.version) return undefined;
      throw error;
    } finally {
      tx.close();
    }
  }

  /** Others go first. */
  async pause(): Promise<void> {
    this.#conflicts += 1;
    if (performance.now() >= this.#endsAt) {
      const text = `others published in scope ${JSON.stringify(this.#of.scope)} for all of the ${this.#waitMs} ms of waitMs, ahead of this call`;
      throw new FenceError('TIMEOUT', `${text}; nothing was written, so try again, or have fewer writers at once`);
    }
    const ms = Math.random() * Math.min(MAX_PAUSE_MS, 4 * this.#conflicts);
    await this.#cutoff.race(delay(ms));
  }

  /** @throws StaleTokenError */
  async #load(): Promise<Loaded | undefined> {
    const { store, scope, rules, holder } = this.#of;
    const found = await this.#cutoff.race(store.load(scope, this.#cutoff.signal));
    const manifest = found?.manifest ?? EMPTY;
    if (rules.refuses(manifest, holder)) throw new StaleTokenError(scope, holder.token, manifest.floor);
    return found;
  }

  /** @returns false where another manifest was published over the one that was read; then this one never will be */
  async #publish(read: Loaded | undefined, told: number, files?: ReadonlyMap<string, ManifestFile>): Promise<boolean> {
    const { store, scope, rules } = this.#of;
    const id = randomBytes(9).toString('base64url');
    const next = following(read?.manifest ?? EMPTY, id, told, files);
    const over = await rules.condition(store, scope, read);
    for (let sends = 1; ; sends += 1) {
      let lost: unknown;
      try {
        if (await store.publish(scope, next, over)) return true;
      } catch (error) {
        if (error instanceof FenceError && !error.indeterminate) throw error;
        lost = error;
      }
      const now = await this.#look(lost);
      if (now?.manifest.recent.includes(id) === true) return true;
      if (lost === undefined || now?.version !== over?.version) {
        // The condition cannot hold any more: what is on its way is refused when it arrives.
        this.#checkMemory(next, now);
        return false;
      }
      if (sends >= MAX_SENDS) throw unknownOutcome(lost);
    }
  }

  /** The current manifest, by which a lost answer is found again. The holder's signal ends it no more. */
  async #look(lost: unknown): Promise<Loaded | undefined> {
    try {
      return await this.#of.store.load(this.#of.scope);
    } catch (error) {
      throw unknownOutcome(lost ?? error);
    }
  }

  /** @throws FenceError where so many were published since that none remembers this one */
  #checkMemory(next: Manifest, now: Loaded | undefined): void {
    if (now === undefined || now.manifest.revision - next.revision < MAX_RECENT) return;
    const stale = this.#of.rules.refuses(now.manifest, this.#of.holder);
    const text = `${MAX_RECENT} others were published since this call began to publish, so that nothing tells whether it did: read before doing it again`;
    throw new FenceError(stale ? 'STALE_TOKEN' : 'TIMEOUT', text, { indeterminate: true });
  }
}

function unknownOutcome(cause: unknown): FenceError {
  const text = 'the storage did not answer whether it published: read what was written before doing it again';
  return new FenceError('CONNECTION', text, { indeterminate: true, cause });
}
