/** The calls of the package. What they have in common with other storage is in `@holdfast/fence-manifest`. */

import { rm } from 'node:fs/promises';
import { checkScope, type Holder } from '@holdfast/fence';
import { invalid, told } from '@holdfast/fence/adapter';
import {
  checkName,
  collectFrom,
  fenceBy as fenceStore,
  installBy as installStore,
  readFrom,
  RULES,
  type InstallOptions,
  type Rules,
} from '@holdfast/fence-manifest';
import { DirectoryStore } from './directory.ts';
import { asFenceError } from './errors.ts';
import { FilesTransaction } from './transaction.ts';

/** Options of {@link fence}. */
export type FenceOptions = InstallOptions;

/**
 * Runs `body` with the files of a scope, and publishes what it wrote, all or nothing and synced to the disk, unless a newer holder has been at
 * the scope. Returns what the body returns. The first call of a holder installs its token.
 *
 * `directory` exists, belongs to the fence alone, and is on a local file system with hard links.
 *
 * **The body is run again** where another of the same holder, or one who shares the lock, has published meanwhile: so what it does besides
 * its `tx` must bear repetition.
 *
 * Rejects with StaleTokenError where a newer holder has been; with FenceError of the code ABORTED where `holder.signal` or `options.signal` aborted
 * before the manifest was published; TIMEOUT after `waitMs` of others who publish; SCHEMA_MISSING without the directory; SCHEMA_VERSION,
 * INVALID_ARGUMENT; RESOURCE for what the file system refuses; and with what the body and `holder.assertHeld` throw.
 *
 * @example
 * await fence('/var/lib/reports', 'jobs', held, async (tx) => {
 *   const state = JSON.parse(Buffer.from((await tx.read('state.json')) ?? '{"runs":0}').toString());
 *   await tx.write('state.json', JSON.stringify({ runs: state.runs + 1 }));
 * });
 */
export async function fence<Result>(
  directory: string,
  scope: string,
  holder: Holder,
  body: (tx: FilesTransaction) => Promise<Result>,
  options: FenceOptions = {},
): Promise<Result> {
  return await fenceBy(RULES, directory, scope, holder, body, options);
}

/**
 * Installs the holder's token: from now on no older holder publishes anything in the scope. `fence` does it by itself; call it before reads
 * that are made elsewhere than in a body. Rejects as {@link fence} does.
 *
 * @example
 * await install('/var/lib/reports', 'jobs', held);
 */
export async function install(
  directory: string,
  scope: string,
  holder: Holder,
  options: InstallOptions = {},
): Promise<void> {
  await installBy(RULES, directory, scope, holder, options);
}

/**
 * What was published last under that name, or undefined. It asks for no token.
 *
 * @example
 * const state = await read('/var/lib/reports', 'jobs', 'state.json');
 */
export async function read(directory: string, scope: string, name: string): Promise<Uint8Array | undefined> {
  const store = storeOf(directory, scope);
  checkName(name);
  return await readFrom(store, scope, name);
}

/**
 * The path of what was published last under that name, or undefined, for programs that read files. Its content never changes. A newer one has
 * another path, and `collect` deletes this one then.
 *
 * @example
 * const path = await pathOf('/var/lib/reports', 'jobs', 'report.csv');
 */
export async function pathOf(directory: string, scope: string, name: string): Promise<string | undefined> {
  const store = storeOf(directory, scope);
  checkName(name);
  const file = (await store.load(scope))?.manifest.files.get(name);
  return file === undefined ? undefined : store.pathOf(scope, file);
}

/**
 * The highest floor that the scope was told, for operators; 0 where there was none.
 *
 * @example
 * console.log(await highest('/var/lib/reports', 'jobs'));
 */
export async function highest(directory: string, scope: string): Promise<number> {
  return (await storeOf(directory, scope).load(scope))?.manifest.floor ?? 0;
}

/**
 * Deletes data that no manifest names and none ever will, and working copies of processes that were killed: those of tokens below the floor.
 * What a holder wrote and replaced itself is deleted once a newer holder has been there. Safe at any time, also while others write.
 *
 * @returns how many files were deleted
 *
 * @example
 * await collect('/var/lib/reports', 'jobs'); // once a day
 */
export async function collect(directory: string, scope: string): Promise<number> {
  const store = storeOf(directory, scope);
  return await collectFrom(store, scope, store.leftovers(scope), async ({ path }) => {
    await told(rm(path, { force: true }), (error) => asFenceError(error, 'write', path));
  });
}

/** @internal */
export async function fenceBy<Result>(
  rules: Rules,
  directory: string,
  scope: string,
  holder: Holder,
  body: (tx: FilesTransaction) => Promise<Result>,
  options: FenceOptions,
): Promise<Result> {
  const call = { store: storeOf(directory, scope), rules, scope, holder, options };
  const opened: FilesTransaction[] = [];
  try {
    return await fenceStore(
      call,
      (of) => {
        const tx = new FilesTransaction(of);
        opened.push(tx);
        return tx;
      },
      body,
    );
  } finally {
    for (const tx of opened) await tx.clear();
  }
}

/** @internal */
export async function installBy(
  rules: Rules,
  directory: string,
  scope: string,
  holder: Holder,
  options: InstallOptions,
): Promise<void> {
  await installStore({ store: storeOf(directory, scope), rules, scope, holder, options });
}

function storeOf(directory: unknown, scope: unknown): DirectoryStore {
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0')) {
    throw invalid('the first argument is the path of the directory that the fence has for itself');
  }
  checkScope(scope);
  return new DirectoryStore(directory);
}
