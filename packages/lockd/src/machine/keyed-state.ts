/** The replicated state of one process, with a key of its own: no client can choose names of nodes that it would be slow to find. */

import type { Random } from '@holdfast/runtime';
import { StateMachine, VERSIONS, type Versions } from '@holdfast/state';

export function createKeyedState(random: Random, versions: Versions = VERSIONS): StateMachine {
  const bytes = random.bytes(8);
  const key = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return new StateMachine({ hashKey: { low: key.getUint32(0, true), high: key.getUint32(4, true) }, versions });
}
