/** Nodes that are registers: what is done to one says all about it. Those of some workloads change together, or go by themselves. */

import { bankOf } from './banks.ts';
import { CONTAINER_PARENT, LIMITED_PARENT, nodeBelow } from './unused-nodes.ts';

export function isRegisterPath(path: string): boolean {
  return (
    bankOf(path) === undefined &&
    nodeBelow(LIMITED_PARENT, path) === undefined &&
    nodeBelow(CONTAINER_PARENT, path) === undefined
  );
}
