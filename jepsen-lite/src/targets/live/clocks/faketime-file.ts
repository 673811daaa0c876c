/**
 * The arithmetic of libfaketime. It knows one offset and one rate, and computes every time from when the process began:
 * `began + offset + (now - began) * rate`. So a new rate by itself would make the clock jump by all the time that has passed; the offset
 * must give that back. A rate stays until another is written.
 */

export interface Faking {
  /** When the process began, in milliseconds of the machine's wall clock. */
  readonly beganMs: number;
  readonly offsetMs: number;
  readonly rate: number;
}

export const TRUE_TIME = { offsetMs: 0, rate: 1 } as const;

/** How far the clock is ahead of the machine's, at a time of the machine's. */
export function aheadMs({ beganMs, offsetMs, rate }: Faking, nowMs: number): number {
  return offsetMs + (nowMs - beganMs) * (rate - 1);
}

export function jumped(faking: Faking, byMs: number): Faking {
  return { ...faking, offsetMs: faking.offsetMs + byMs };
}

/** From now on at that rate, without a jump. */
export function atRate(faking: Faking, rate: number, nowMs: number): Faking {
  const { beganMs } = faking;
  return { beganMs, rate, offsetMs: aheadMs(faking, nowMs) - (nowMs - beganMs) * (rate - 1) };
}

/** For a process that begins later: its clock goes on from where the last one's is. */
export function carriedOver(faking: Faking, nowMs: number): Faking {
  return { beganMs: nowMs, rate: faking.rate, offsetMs: aheadMs(faking, nowMs) };
}

/** What libfaketime reads: seconds with a sign, and the rate. */
export function renderFaking({ offsetMs, rate }: Pick<Faking, 'offsetMs' | 'rate'>): string {
  const seconds = (Math.abs(offsetMs) / 1_000).toFixed(6);
  return `${offsetMs < 0 ? '-' : '+'}${seconds} x${rate.toFixed(9)}\n`;
}
