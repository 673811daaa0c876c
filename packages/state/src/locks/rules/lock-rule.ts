/** Who may hold. One small pure rule a kind of lock; the queue's order is not its business: waiters are asked about from the first on. */

/** What a rule may know of those who hold already. */
interface HoldersView {
  readonly size: number;
}

export interface LockRule {
  /** Whether the waiter at the head of the queue may hold beside the present holders. */
  mayHold(holders: HoldersView): boolean;
}
