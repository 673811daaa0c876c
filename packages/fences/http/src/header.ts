/** The header `Fencing-Token: 41`, and `Fencing-Token: 41; floor=39` of those who share a lock. */

import { checkHolder, floorOf, type Holder } from '@holdfast/fence';
import { invalid, isToken } from '@holdfast/fence/adapter';

/** Case does not matter on the wire; Node.js gives names of headers in lower case. */
export const FENCING_TOKEN = 'fencing-token';

const PATTERN = /^([0-9]{1,16})(?:[ \t]*;[ \t]*floor=([0-9]{1,16}))?$/;
const FORM = 'it is decimal digits from 1 to 2^53 − 1, and of a shared lock "; floor=" with digits behind it';
/** What a message shows of a header. */
const MAX_SHOWN = 60;

export interface PresentedToken {
  readonly token: number;
  /** At most the token. */
  readonly floor: number;
}

/**
 * What a request carries; undefined where it has no such header.
 *
 * @param value as Node.js gives it: several headers of the name are one value with commas, and malformed
 * @throws FenceError INVALID_ARGUMENT
 *
 * @example
 * parseFencingToken('41'); // { token: 41, floor: 41 }
 * parseFencingToken('41; floor=39'); // { token: 41, floor: 39 }
 */
export function parseFencingToken(value: string | readonly string[] | null | undefined): PresentedToken | undefined {
  if (value === undefined || value === null) return undefined;
  const text = typeof value === 'string' ? value.trim() : value.join(', ');
  const match = PATTERN.exec(text);
  const token = Number(match?.[1]);
  const floor = Number(match?.[2] ?? match?.[1]);
  if (match === null || !isToken(token) || !isToken(floor) || floor > token) {
    throw invalid(`the header Fencing-Token is ${JSON.stringify(text.slice(0, MAX_SHOWN))}: ${FORM}`);
  }
  return { token, floor };
}

/**
 * The value of the header for a holder.
 *
 * @throws FenceError INVALID_ARGUMENT
 *
 * @example
 * await fetch(url, { headers: { 'Fencing-Token': formatFencingToken(held) } });
 */
export function formatFencingToken(holder: Holder): string {
  checkHolder(holder);
  const floor = floorOf(holder);
  return floor === holder.token ? `${holder.token}` : `${holder.token}; floor=${floor}`;
}
