/** The calls of the package. What they have in common with other storage is in `@holdfast/fence-manifest`. */

import { checkScope, type Holder } from '@holdfast/fence';
import {
  checkName,
  collectFrom,
  fenceBy as fenceStore,
  installBy as installStore,
  readFrom,
  RULES,
  Transaction,
  type InstallOptions,
  type Rules,
} from '@holdfast/fence-manifest';
import { checkStorage, S3Store, type S3Storage } from './storage.ts';

/** Options of {@link fence}. */
export type FenceOptions = InstallOptions;

/** The files of a scope in a body: `read`, `write`, `remove` and `names`. */
export type S3Transaction = Transaction<S3Store>;

/**
 * Runs `body` with the files of a scope, and publishes what it wrote, all or nothing, unless a newer holder has been at the scope. Returns what
 * the body returns. The first call of a holder installs its token.
 *
 * **The body is run again** where another of the same holder, or one who shares the lock, has published meanwhile: so what it does besides
 * its `tx` must bear repetition.
 *
 * Rejects with StaleTokenError where a newer holder has been; with FenceError of the code ABORTED where `holder.signal` or `options.signal` aborted
 * before the manifest was sent; CONNECTION where the storage cannot be reached (`indeterminate` where it does not tell whether it published);
 * TIMEOUT after `waitMs` of others who publish; SCHEMA_MISSING without the bucket; SCHEMA_VERSION, INVALID_ARGUMENT, RESOURCE; and with what
 * the body and `holder.assertHeld` throw.
 *
 * @example
 * await fence({ client: s3, bucket: 'reports' }, 'jobs', held, async (tx) => {
 *   const state = JSON.parse(Buffer.from((await tx.read('state.json')) ?? '{"runs":0}').toString());
 *   await tx.write('state.json', JSON.stringify({ runs: state.runs + 1 }));
 * });
 */
export async function fence<Result>(
  storage: S3Storage,
  scope: string,
  holder: Holder,
  body: (tx: S3Transaction) => Promise<Result>,
  options: FenceOptions = {},
): Promise<Result> {
  return await fenceBy(RULES, storage, scope, holder, body, options);
}

/**
 * Installs the holder's token: from now on no older holder publishes anything in the scope. `fence` does it by itself; call it before reads
 * that are made elsewhere than in a body. Rejects as {@link fence} does.
 *
 * @example
 * await install({ client: s3, bucket: 'reports' }, 'jobs', held);
 */
export async function install(
  storage: S3Storage,
  scope: string,
  holder: Holder,
  options: InstallOptions = {},
): Promise<void> {
  await installBy(RULES, storage, scope, holder, options);
}

/**
 * What was published last under that name, or undefined. It asks for no token.
 *
 * @example
 * const state = await read({ client: s3, bucket: 'reports' }, 'jobs', 'state.json');
 */
export async function read(storage: S3Storage, scope: string, name: string): Promise<Uint8Array | undefined> {
  checkStorage(storage);
  checkScope(scope);
  checkName(name);
  return await readFrom(new S3Store(storage), scope, name);
}

/**
 * The highest floor that the scope was told, for operators; 0 where there was none.
 *
 * @example
 * console.log(await highest({ client: s3, bucket: 'reports' }, 'jobs'));
 */
export async function highest(storage: S3Storage, scope: string): Promise<number> {
  checkStorage(storage);
  checkScope(scope);
  return (await new S3Store(storage).load(scope))?.manifest.floor ?? 0;
}

/**
 * Deletes data that no manifest names and none ever will: those of tokens below the floor. What a holder wrote and replaced itself is deleted
 * once a newer holder has been there. Safe at any time, also while others write.
 *
 * @returns how many objects were deleted
 *
 * @example
 * await collect({ client: s3, bucket: 'reports' }, 'jobs'); // once a day
 */
export async function collect(storage: S3Storage, scope: string): Promise<number> {
  checkStorage(storage);
  checkScope(scope);
  const store = new S3Store(storage);
  return await collectFrom(store, scope, store.data(scope), async ({ key }) => await store.delete(key));
}

/**
 * Finds out whether the storage judges the conditions of a write. Call it when you deploy: one that ignores them lets everybody in.
 *
 * Rejects with FenceError RESOURCE if it does not; SCHEMA_MISSING without the bucket.
 *
 * @example
 * await verifyStorage({ client: s3, bucket: 'reports' });
 */
export async function verifyStorage(storage: S3Storage): Promise<void> {
  checkStorage(storage);
  await new S3Store(storage).probe();
}

/** @internal */
export async function fenceBy<Result>(
  rules: Rules,
  storage: S3Storage,
  scope: string,
  holder: Holder,
  body: (tx: S3Transaction) => Promise<Result>,
  options: FenceOptions,
): Promise<Result> {
  checkStorage(storage);
  const call = { store: new S3Store(storage), rules, scope, holder, options };
  return await fenceStore(call, (of) => new Transaction(of), body);
}

/** @internal */
export async function installBy(
  rules: Rules,
  storage: S3Storage,
  scope: string,
  holder: Holder,
  options: InstallOptions,
): Promise<void> {
  checkStorage(storage);
  await installStore({ store: new S3Store(storage), rules, scope, holder, options });
}
