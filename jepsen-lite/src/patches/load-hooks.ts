/**
 * Module load hooks (they run in a thread of their own): a file that a mutant changes is changed as it is loaded. Reports each
 * such file through `port`; what is never reported was never loaded.
 */

import type { LoadHook } from 'node:module';
import type { MessagePort } from 'node:worker_threads';

import { applyEdits } from './patch.ts';
import type { EditsByUrl } from './product.ts';

export interface LoadHooksData {
  readonly edits: EditsByUrl;
  readonly port: MessagePort;
}

let hooksData: LoadHooksData | undefined;

export function initialize(data: LoadHooksData): void {
  hooksData = data;
}

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const edits = hooksData?.edits[url];
  if (edits === undefined) return loaded;
  if (loaded.source === undefined || loaded.source === null) throw new Error(`${url} was loaded without its source`);
  const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
  const source = applyEdits(text, edits, url);
  hooksData?.port.postMessage(url);
  return { ...loaded, source };
};
