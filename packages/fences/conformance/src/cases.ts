/** All cases, in the order in which a resource is best made to pass them. */

import type { ConformanceCase } from './case.ts';
import { clockCases } from './cases/clocks.ts';
import { concurrencyCases } from './cases/concurrency.ts';
import { durabilityCases } from './cases/durability.ts';
import { floorCases } from './cases/floors.ts';
import { historyCases } from './cases/histories.ts';
import { installCases } from './cases/installs.ts';
import { malformedCases } from './cases/malformed.ts';
import { transactionCases } from './cases/transactions.ts';
import { writeCases } from './cases/writes.ts';

/**
 * Each can be run by itself; {@link describeConformance} registers all.
 *
 * @example
 * for (const { name, needs } of conformanceCases) console.log(name, needs);
 */
export const conformanceCases: readonly ConformanceCase[] = [
  ...writeCases,
  ...installCases,
  ...malformedCases,
  ...clockCases,
  ...floorCases,
  ...concurrencyCases,
  ...transactionCases,
  ...durabilityCases,
  ...historyCases,
];
