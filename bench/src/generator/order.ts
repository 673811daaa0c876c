/** What a generator can be told to do, one JSON object a line; native loads understand `window` alone. */

export type GeneratorOrder =
  /** Run for `rampMs`, then count for `windowMs`, then stand still. */
  | { readonly type: 'window'; readonly rampMs: number; readonly windowMs: number }
  | { readonly type: 'ephemerals'; readonly count: number }
  | { readonly type: 'nodes'; readonly count: number }
  /** Until a session at the first server reads the node; the server may not be there yet. */
  | { readonly type: 'await-node'; readonly node: string }
  | { readonly type: 'watchers'; readonly perSession: number; readonly rounds: number }
  | { readonly type: 'kill'; readonly pid: number }
  /** Of outage clients, each answered with what is known now: begin to measure, begin to count who was served, neither. */
  | { readonly type: 'mark' | 'renew' | 'outages' };
