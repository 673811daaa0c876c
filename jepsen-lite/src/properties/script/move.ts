/** One thing that happens in a run, before it is known what there is to do it with: each pick counts modulo what there is then. */

/** How often each kind comes, where a run does not prefer some. */
export const WEIGHTS = {
  open: 4,
  attach: 3,
  attachOtherwise: 2,
  acquire: 14,
  try: 5,
  release: 10,
  cancel: 5,
  share: 14,
  several: 7,
  delayed: 8,
  policy: 8,
  downgrade: 10,
  create: 9,
  set: 5,
  delete: 6,
  createNode: 8,
  setNode: 2,
  transaction: 12,
  reserved: 2,
  revoke: 3,
  requestRelease: 4,
  close: 1,
  closeOther: 1,
  expire: 2,
  expireOtherwise: 2,
  repeat: 10,
  gap: 3,
  oldGeneration: 3,
  otherServer: 2,
  endedSession: 2,
  oddNumber: 2,
  malformed: 3,
  refuse: 3,
  continueEnd: 6,
  removeUnused: 4,
  endDelay: 5,
  enforceRelease: 4,
  raise: 4,
  noop: 1,
  unsupported: 1,
} as const;

export type MoveKind = keyof typeof WEIGHTS;
export const MOVE_KINDS = Object.keys(WEIGHTS) as readonly MoveKind[];

export interface Move {
  readonly kind: MoveKind;
  /** Which client. */
  readonly who: number;
  /** Which lock, path or command. */
  readonly what: number;
  /** Which of several: an acquire, a number, an amount. */
  readonly pick: number;
  /** Which variant of the kind. */
  readonly flavour: number;
  /** What is acknowledged. */
  readonly ack: number;
}

/** The fields that are numbers, each below its bound. */
export const PICKS = { who: 4, what: 12, pick: 60, flavour: 10, ack: 10 } as const;
export const PICK_NAMES = Object.keys(PICKS) as readonly (keyof typeof PICKS)[];
