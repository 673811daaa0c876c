/** What the page of a run embeds: everything that its timeline draws. Times are milliseconds of the harness. */

export const STATUSES = ['ok', 'fail', 'info', 'open'] as const;
export type Status = (typeof STATUSES)[number];

/** A column for each field; calls of one row follow one another, in the order of their beginnings, and never overlap. */
export interface CallColumns {
  readonly startMs: readonly number[];
  readonly lengthMs: readonly number[];
  /** Places in STATUSES. */
  readonly status: readonly number[];
  /** Places in `texts`: what was asked, and what came of it. */
  readonly asked: readonly number[];
  readonly answered: readonly number[];
  /** Of the invocation. */
  readonly seq: readonly number[];
  /** Where each row begins; one more at the end. */
  readonly rowStarts: readonly number[];
}

/** A client with its rows. */
export interface Lane {
  readonly name: string;
  readonly firstRow: number;
  readonly rows: number;
  readonly calls: number;
}

export interface HolderBand {
  readonly seq: number;
  readonly token: number;
  /** Its name at the ensemble. */
  readonly hold: number;
  readonly client: string;
  readonly startMs: number;
  readonly endMs: number;
  /** How it ended: `released`, `expired` and so on; `open` at the end of the run. */
  readonly end: string;
  /** For how long its client took itself for the holder. */
  readonly told?: { readonly startMs: number; readonly endMs: number };
}

export interface LockTrack {
  readonly name: string;
  readonly rows: readonly (readonly HolderBand[])[];
}

export interface LeaderBand {
  readonly seq: number;
  readonly server: string;
  readonly term: number;
  readonly startMs: number;
  readonly endMs: number;
}

export interface FaultBand {
  readonly startMs: number;
  readonly endMs: number;
  /** Of one fault; how many there are, of several that overlap. */
  readonly label: string;
}

export interface FaultTrack {
  readonly kind: string;
  readonly count: number;
  readonly bands: readonly FaultBand[];
}

/** An event of a failing sub-history, and where it is drawn. */
export interface FocusPoint {
  /** Of the sentence that tells it, from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly track: 'lane' | 'lock' | 'leaders' | 'run';
  /** Which lane or lock. */
  readonly place: number;
  readonly row: number;
  /** The call's place in the columns, where it is one. */
  readonly call?: number;
  /** Until when the call, or the band, lasts. */
  readonly endMs: number;
  readonly text: string;
}

interface Finding {
  /** Places of the locks that it is about. */
  readonly locks: readonly number[];
  readonly points: readonly FocusPoint[];
}

export interface PageData {
  readonly startMs: number;
  readonly endMs: number;
  readonly texts: readonly string[];
  readonly lanes: readonly Lane[];
  readonly calls: CallColumns;
  readonly locks: readonly LockTrack[];
  readonly leaders: readonly (readonly LeaderBand[])[];
  readonly faults: readonly FaultTrack[];
  readonly phases: readonly { readonly label: string; readonly atMs: number }[];
  readonly findings: readonly Finding[];
}
