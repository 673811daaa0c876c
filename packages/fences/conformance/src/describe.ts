/** Registers the cases with a test runner. A case that needs what a resource lacks is skipped by the runner's own means, so that it is counted. */

import { conformanceCases } from './cases.ts';
import { ConformanceError } from './checks.ts';
import { missingCapabilities, type FencedResource } from './resource.ts';

/** What vitest, jest, mocha and node:test have in common. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}

/**
 * Registers all cases. One whose needs aren't there is skipped by its name. jest cannot skip a test that has begun: there it fails, and says so.
 *
 * @param open called for each connection that a case needs
 *
 * @example
 * describeConformance('accounts', () => openAccounts(), { describe, it });
 */
export function describeConformance(
  name: string,
  open: () => Promise<FencedResource>,
  { describe, it }: TestRunner,
): void {
  describe(`${name} as a fenced resource`, () => {
    for (const { name: promise, needs, run } of conformanceCases) {
      // mocha has its context in `this`, the others in their argument. None of them counts a rest parameter, which would mean a callback.
      it(promise, async function test(this: unknown, ...args: readonly unknown[]) {
        const first = await open();
        const lacks = missingCapabilities(first, needs);
        if (lacks.length === 0) {
          let opened: FencedResource | undefined = first;
          return await run(async () => {
            const resource = opened ?? (await open());
            opened = undefined;
            return resource;
          });
        }
        await first.close?.();
        skip([args[0], this], `the resource lacks ${lacks.join(', ')}`);
      });
    }
  });
}

function skip(contexts: readonly unknown[], reason: string): void {
  for (const context of contexts) {
    if (typeof context !== 'object' || context === null || !('skip' in context)) continue;
    // vitest and mocha throw what tells them; node:test marks the test.
    if (typeof context.skip === 'function') return void context.skip(reason);
  }
  throw new ConformanceError(`${reason}, and this test runner cannot skip a test that has begun`);
}
