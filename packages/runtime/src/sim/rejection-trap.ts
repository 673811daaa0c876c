/**
 * Catches promise rejections that nothing handles while a world runs, so that they fail the run that caused them and
 * not whatever the process does with them later. Handlers of the process (a test runner's) are put back by `release`.
 */

const MARK = Symbol.for('holdfast.sim.rejection-trap');

export interface RejectionTrap {
  /** Throws the first rejection that was caught. */
  check(): void;
  release(): void;
}

export function trapRejections(): RejectionTrap {
  // The event belongs to the process, not to a world: two worlds that run at once could not tell whose rejection it is.
  const target = process; // oxlint-disable-line no-restricted-globals -- the only place where unhandled rejections show
  const before = target.listeners('unhandledRejection');
  if (before.some((listener) => MARK in listener)) {
    throw new Error('another SimWorld is running in this process; run worlds one after another');
  }
  const caught: unknown[] = [];
  const listener = Object.assign((reason: unknown) => void caught.push(reason), { [MARK]: true });
  target.removeAllListeners('unhandledRejection');
  target.on('unhandledRejection', listener);
  return {
    check() {
      if (caught.length > 0) throw caught.shift();
    },
    release() {
      target.off('unhandledRejection', listener);
      for (const previous of before) target.on('unhandledRejection', previous);
    },
  };
}
