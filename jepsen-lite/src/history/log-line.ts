/** An entry of the Raft log as a line that people read. */

export interface LogLine {
  readonly index: number;
  readonly term: number;
  /** What it would do, and for whom. */
  readonly text: string;
}
