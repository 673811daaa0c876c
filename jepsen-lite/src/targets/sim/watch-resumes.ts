/** How watches of clients went on where they were, as the servers count it. */

export interface WatchResumes {
  readonly watchesFromHistory: number;
  readonly watchesBehindHistory: number;
  readonly watchersOverSnapshot: number;
}

export const NO_RESUMES: WatchResumes = { watchesFromHistory: 0, watchesBehindHistory: 0, watchersOverSnapshot: 0 };

/** So little that clients come back behind it now and then. */
export const WATCH_HISTORY_BYTES = 32 * 1024;

export function addResumes(sum: WatchResumes, counts: WatchResumes): WatchResumes {
  return {
    watchesFromHistory: sum.watchesFromHistory + counts.watchesFromHistory,
    watchesBehindHistory: sum.watchesBehindHistory + counts.watchesBehindHistory,
    watchersOverSnapshot: sum.watchersOverSnapshot + counts.watchersOverSnapshot,
  };
}
