/** The scripts of the pages, each bundled into one text: they are modules of ours, and a page that is one file has room for one. */

import { fileURLToPath } from 'node:url';

export type ScriptName = 'run' | 'index';

const made = new Map<ScriptName, Promise<string>>();

/** Bundled once a process. */
export function scriptOf(name: ScriptName): Promise<string> {
  const known = made.get(name) ?? bundle(name);
  made.set(name, known);
  return known;
}

async function bundle(name: ScriptName): Promise<string> {
  // Only who writes a report pays for loading it.
  const { rolldown } = await import('rolldown');
  // The sources in tests, what they were built to otherwise.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const input = fileURLToPath(new URL(`../browser/${name}${extension}`, import.meta.url));
  const build = await rolldown({ input, platform: 'browser', logLevel: 'silent' });
  try {
    const { output } = await build.generate({ format: 'iife', minify: true });
    // In a script element nothing may look like its end.
    return output[0].code.replaceAll(/<(?=\/script|!--)/gi, '\\x3c').trim();
  } finally {
    await build.close();
  }
}
