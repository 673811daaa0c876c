/** What the parts of the checker of transactions look at, and what they count. */

import type { Call } from '../../history/calls.ts';
import type { Findings } from '../findings.ts';

export type TransactionCall = Call<'transaction'>;

export const TRANSACTION_COUNTS = [
  'banks',
  'done',
  'refused',
  'unknown',
  'audits',
  'books',
  'entries',
  'states',
  'givenUp',
] as const;

export type TransactionFindings = Findings<(typeof TRANSACTION_COUNTS)[number]>;
