/** Where an answer comes from. */
export interface AnswerSource {
  /** The server that answered. */
  readonly server: number;
  readonly address: string;
  /** The answer shows what the log up to here has done; 0 from a server that does not report it. */
  readonly index: number;
}
