/** Determinism: equal outputs, digests and answers, though the twin's collections iterate in another order and its entries lie elsewhere. */

import { difference } from '../observation/difference.ts';
import type { StatePromise } from '../state-promise.ts';
import { demand } from '../demand.ts';

export function sameOnEveryMachine(): StatePromise {
  return {
    name: 'the same entries make the same outputs, digest and state on every machine',
    observe({ index, outputs, digest, after, twin }) {
      const inOutputs = difference(twin.outputs, outputs);
      demand(inOutputs === undefined, () => `at index ${index} the outputs of two machines differ:${inOutputs}`);
      const inState = twin.view === undefined ? undefined : difference(twin.view, after);
      demand(inState === undefined, () => `at index ${index} two machines answer differently:${inState}`);
      demand(
        twin.digest === digest,
        () => `at index ${index} the digests of two machines differ: ${twin.digest} and ${digest}`,
      );
    },
  };
}
