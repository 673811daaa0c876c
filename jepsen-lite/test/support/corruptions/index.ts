/** Ways in which a run can break its promises: each changes one thing in a proper history, and names the checker that must see it. */

import { GROUP_CORRUPTIONS } from '../group/group-corruptions.ts';
import { CALL_CORRUPTIONS } from './calls.ts';
import type { Corruption } from './corruption.ts';
import { HOLD_CORRUPTIONS } from './holds.ts';
import { LOCK_KIND_CORRUPTIONS } from './lock-kinds.ts';
import { STORE_CORRUPTIONS } from './store.ts';
import { TREE_CORRUPTIONS } from './tree.ts';

export type { Corruption };

export const CORRUPTIONS: readonly Corruption[] = [
  ...GROUP_CORRUPTIONS,
  ...LOCK_KIND_CORRUPTIONS,
  ...TREE_CORRUPTIONS,
  ...CALL_CORRUPTIONS,
  ...HOLD_CORRUPTIONS,
  ...STORE_CORRUPTIONS,
];
