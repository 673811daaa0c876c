/**
 * Where an answer comes from.
 *
 * @example
 * await operator.nodes.get('/config', { onAnswer: ({ address }) => console.log(`told by ${address}`) });
 */
export interface AnswerSource {
  /** The server that answered. */
  readonly server: number;
  readonly address: string;
  /** The answer shows what the log up to here has done; 0 from a server that does not report it. */
  readonly index: number;
}
