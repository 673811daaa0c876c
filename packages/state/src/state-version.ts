/**
 * How entries are applied, as a number in the replicated state: what a later version does otherwise, it does from the entry on that raises
 * the number, on every server alike. So servers of two versions of the program agree for as long as the ensemble has both.
 *
 *   1  the first
 *   2  has a version that can be raised; applies every other entry as 1 does
 *   3  has transactions, containers, times to live, nodes without data, and longer paths; refuses U+0000 before it looks for a parent
 *   4  has read-write locks, semaphores, acquires of several locks, and revocations; an entry that takes several waits and holds away grants when all are gone
 *   5  has acquires with options, of which some end in a deadlock, delays of locks, and requests to release a hold
 */

export const FIRST_STATE_VERSION = 1;
/** The highest that this program can apply entries by. */
export const LATEST_STATE_VERSION = 5;
