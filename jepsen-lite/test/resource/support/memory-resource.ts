/** Resources in memory, right and wrong ones, that situations are played against without processes. */

import type { Connection, Outcome } from '../../../src/resource/adapters/resource.ts';

/** What all connections share. */
export interface Shared {
  value: string | null;
  highest: number;
}

export interface Rule {
  /** @default as `correct` */
  readonly write?: (
    shared: Shared,
    value: string,
    token: number,
    own: { highest: number },
  ) => Promise<Outcome> | Outcome;
  readonly install?: (shared: Shared, token: number) => Outcome;
  readonly writeUnfenced?: (shared: Shared, value: string) => Outcome;
  readonly read?: (shared: Shared) => string | null;
}

export const TAKEN: Outcome = { type: 'taken' };
export const REFUSED: Outcome = { type: 'refused', message: 'a newer holder was here' };

/** One step: nothing comes between the comparison and the write. */
export function writeIfCurrent(shared: Shared, value: string, token: number): Outcome {
  if (token < shared.highest) return REFUSED;
  shared.value = value;
  shared.highest = token;
  return TAKEN;
}

export function write(shared: Shared, value: string): Outcome {
  shared.value = value;
  return TAKEN;
}

export async function soon(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Opens connections to one such resource. */
export function memoryResource(rule: Rule): () => Connection {
  const shared: Shared = { value: null, highest: 0 };
  return () => {
    const own = { highest: 0 };
    const { install, writeUnfenced } = rule;
    return {
      write: async (value, token) => {
        await soon();
        return await (rule.write ?? writeIfCurrent)(shared, value, token, own);
      },
      read: async () => {
        await soon();
        return (rule.read ?? (({ value }: Shared) => value))(shared);
      },
      ...(install === undefined ? {} : { install: (token: number) => Promise.resolve(install(shared, token)) }),
      ...(writeUnfenced === undefined
        ? {}
        : { writeUnfenced: (value: string) => Promise.resolve(writeUnfenced(shared, value)) }),
      close: () => Promise.resolve(),
    };
  };
}
