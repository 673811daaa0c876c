/** Names a node of one replica's tree, and means nothing outside it. */

declare const slotBrand: unique symbol;
/** Stands for one node from its creation to its removal; then another may get the same slot. */
export type NodeSlot = number & { readonly [slotBrand]: true };

/** "/", which always exists. */
export const ROOT = 0 as NodeSlot;
