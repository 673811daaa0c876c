/** The registers of a random world: all but one refuse tokens that are below the highest that they have seen. */

import type { Operation } from '../../src/history/history.ts';

/** The bucket that looks at no token. */
export const UNFENCED = 'unfenced';

interface Bucket {
  highest: number;
  value: string | null;
}

interface Outcome {
  readonly passes: boolean;
  /** Both as they were before. */
  readonly highest: number;
  readonly value: string | null;
}

export class TwoStores {
  readonly #buckets = new Map<string, Bucket>();

  apply(operation: Extract<Operation, { readonly bucket: string }>): Outcome {
    const { bucket, token = 0 } = operation;
    const state = this.#buckets.get(bucket) ?? { highest: 0, value: null };
    this.#buckets.set(bucket, state);
    const { highest, value } = state;
    const passes = bucket === UNFENCED || token >= highest;
    if (passes && operation.f !== 'get') {
      state.highest = Math.max(highest, token);
      if (operation.f === 'put') state.value = operation.value;
    }
    return { passes, highest, value };
  }
}
