/** How much of a run a report shows. Whatever it leaves out it counts, and says so. */

/** Those nearest to what failed, or the first ones of a run that passed. */
export const MAX_CALLS = 200_000;
/** Clients and locks; those of the failing sub-history come first. */
export const MAX_LANES = 200;
export const MAX_LOCKS = 100;
/** Calls that one client has open at a time, each on a line of its own. */
export const MAX_ROWS_OF_A_LANE = 16;
/** Holders that a lock has at a time, and leaders of different terms. */
export const MAX_ROWS_OF_BANDS = 4;
export const MAX_HOLDS = 50_000;
/** Bands of one kind of fault; those that overlap are one. */
export const MAX_FAULT_BANDS = 2_000;
/** Findings that are told in words, over all checkers. */
export const MAX_FINDINGS = 12;
/** Sentences about one finding. */
export const MAX_SENTENCES = 6;
/** Fewer tell too little: what happened to the same thing before is added. */
export const MIN_SENTENCES = 2;
/** Characters of a name or value. */
export const MAX_TEXT = 120;
