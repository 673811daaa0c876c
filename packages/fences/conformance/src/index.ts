/**
 * A suite that finds out whether a resource keeps the fence rule: no write of an older holder after a newer one has been there, under races,
 * restarts, rollbacks and malformed tokens. It runs with vitest, jest, mocha and node:test.
 *
 * @example
 * import { describeConformance } from '@holdfast/fence-conformance';
 * import { describe, it } from 'vitest';
 *
 * describeConformance('accounts', () => openAccounts(), { describe, it });
 *
 * @packageDocumentation
 */

export type { Holder } from '@holdfast/fence';
export type { ConformanceCase } from './case.ts';
export { conformanceCases } from './cases.ts';
export { ConformanceError } from './checks.ts';
export { describeConformance, type TestRunner } from './describe.ts';
export type { Capability, FencedResource, SlowWrite } from './resource.ts';
export { runConformance, type CaseResult } from './run.ts';
