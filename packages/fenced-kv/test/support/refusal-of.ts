import { RefusedError } from '../../src/refusal.ts';
import type { Refusal } from '../../src/refusal.ts';

/** The refusal that `work` ends with; undefined where it succeeds. Other errors pass through. */
export async function refusalOf(work: () => unknown): Promise<Refusal | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof RefusedError) return error.refusal;
    throw error;
  }
}
