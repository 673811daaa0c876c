/**
 * The ban on voting, as rules over what one server is: when it begins, what a banned server may do, and when the ban ends. They are
 * stated here a second time, without a look at the core: the model shows that they suffice, and the core's steps are held to them.
 */

/** A log is the terms of its entries; the first is that of index 1. */
export interface BannedOrNot {
  readonly term: number;
  readonly log: readonly number[];
  /** Undefined: it may vote. */
  readonly ban: number | undefined;
}

export interface BanRules {
  /** In which term a server begins anew whose log has lost what it had acknowledged, and since which it is banned. */
  readonly banAfterLoss: (server: BannedOrNot) => number;
  /** Whether it may take part in electing a leader, itself included. */
  readonly mayVote: (server: BannedOrNot) => boolean;
  /** Whether the ban ends when the server has its log durably, and hears that all of it up to `commit` is committed. */
  readonly mayLift: (server: BannedOrNot, commit: number) => boolean;
}

/**
 * Above every term of its own, so that whoever counts on what is lost leads no longer where this server follows; until something is
 * committed by a leader that was elected without it.
 */
export const RULES: BanRules = {
  banAfterLoss: ({ term, ban }) => Math.max(term, ban ?? 0) + 1,
  mayVote: ({ ban }) => ban === undefined,
  mayLift: ({ log, ban }, commit) => ban !== undefined && commit <= log.length && (log[commit - 1] ?? 0) >= ban,
};
