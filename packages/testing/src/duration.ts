/** How tests say a time: `'10s'`, or a number of milliseconds. */

import { InvalidArgumentError } from '@holdfast/client';

/**
 * Milliseconds, or text such as `'250ms'`, `'10s'`, `'2m'`, `'1.5h'`.
 *
 * @example
 * await ensemble.advance('1.5h');
 */
export type Duration = number | `${number}${Unit}`;

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
type Unit = keyof typeof UNIT_MS;

const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;
/** A thousand hours: further than any test goes, and far from where virtual time would lose its fractions. */
const MAX_MS = 1_000 * UNIT_MS.h;

/** @throws InvalidArgumentError */
export function toMilliseconds(duration: Duration): number {
  const ms = typeof duration === 'number' ? duration : parsed(duration);
  if (ms >= 0 && ms <= MAX_MS) return ms;
  throw new InvalidArgumentError(
    `${JSON.stringify(duration)} is no time to advance by; give milliseconds, or text such as '250ms', '10s', '2m', '1h' (1000h at most)`,
  );
}

function parsed(text: unknown): number {
  const [, number, unit] = PATTERN.exec(String(text)) ?? [];
  return number === undefined ? NaN : Number(number) * UNIT_MS[unit as Unit];
}
