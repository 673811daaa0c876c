/**
 * The harness goes before what it harms. A fault may keep all processors busy, since clients whose connections break dial again and again;
 * it must end when it is due nevertheless. One that outlasts its plan strikes beside others that were to come after it.
 */

import { getPriority, setPriority } from 'node:os';

/** As `nice` counts: the lower, the more. */
const NORMAL = 0;
const AHEAD = -10;

/** What this process starts inherits it. Returns what ends it. Without effect for a user who may not: only root may. */
export function goAhead(): () => void {
  const before = getPriority();
  if (before <= AHEAD) return () => {};
  try {
    setPriority(AHEAD);
  } catch (error) {
    if (isRefused(error)) return () => {};
    throw error;
  }
  return () => setPriority(before);
}

/** What goes before the command of a program of a run, so that it does not inherit that. */
export function normalPriority(): readonly string[] {
  const own = getPriority();
  return own < NORMAL ? ['nice', '-n', `${NORMAL - own}`] : [];
}

function isRefused(error: unknown): boolean {
  const { info } = error as { readonly info?: { readonly code?: string } };
  return info?.code === 'EACCES' || info?.code === 'EPERM';
}
