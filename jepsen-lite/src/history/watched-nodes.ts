/** The node below which clients watch. */
export const WATCHED_PARENT = '/watched';
