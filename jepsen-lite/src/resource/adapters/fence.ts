/** Which resource is meant, and how a connection to it is made. */

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

import { openModule } from './module.ts';
import { ResourceInputError, type Connection } from './resource.ts';
import { openUrl, type Detour } from './url.ts';

export type Fence =
  | { readonly type: 'url'; readonly url: string; readonly installUrl?: string }
  | { readonly type: 'module'; readonly path: string };

/** @throws ResourceInputError */
export function parseFence(text: string, installUrl?: string): Fence {
  if (/^https?:\/\//i.test(text)) {
    const url = parseUrl(text);
    return { type: 'url', url, ...(installUrl === undefined ? {} : { installUrl: parseUrl(installUrl) }) };
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) {
    throw new ResourceInputError(
      `${text}: a URL must begin with http:// or https://; for anything else write a module`,
    );
  }
  if (installUrl !== undefined) {
    throw new ResourceInputError('--install-url goes with a URL; a module exports a resource with install(token)');
  }
  const path = resolve(text);
  if (!existsSync(path) || !statSync(path).isFile()) {
    throw new ResourceInputError(`${text}: there is no such file; give a URL, or the path of an ES module`);
  }
  return { type: 'module', path };
}

function parseUrl(text: string): string {
  try {
    return new URL(text).href;
  } catch {
    throw new ResourceInputError(`${text}: this is no URL`);
  }
}

/** @throws ResourceInputError where the module is not one. */
export async function openFence(fence: Fence, timeoutMs: number, detour?: Detour): Promise<Connection> {
  return fence.type === 'url' ? openUrl(fence, timeoutMs, detour) : await openModule(fence.path, timeoutMs);
}
