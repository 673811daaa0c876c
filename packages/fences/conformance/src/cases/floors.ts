/** Those who share a lock have several live tokens, and one floor: the lowest of them. What is below it is fenced, and nothing else. */

import { defineCase, type ConformanceCase } from '../case.ts';
import { expectAccepted, expectRefused, expectValue } from '../checks.ts';

export const floorCases: readonly ConformanceCase[] = [
  defineCase('holders that share a floor do not fence each other', ['floors'], async ({ resource }) => {
    const scope = await resource.scope();
    const [first, second] = [
      { token: 5, floor: 5 },
      { token: 9, floor: 5 },
    ];
    await expectAccepted('the install of the first', () => resource.install(scope, first));
    await expectAccepted('the install of the second', () => resource.install(scope, second));
    for (const [holder, value] of [
      [second, 'a'],
      [first, 'b'],
      [second, 'c'],
      [first, 'd'],
    ] as const) {
      await expectAccepted(`a write under ${holder.token}`, () => resource.write(scope, holder, value));
      await expectValue(resource, scope, value, 'it was written last', { holder });
    }
  }),

  defineCase('a token below the floor is refused', ['floors'], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 4', () => resource.write(scope, { token: 4 }, 'older'));
    await expectAccepted('a write under 9 with the floor 5', () =>
      resource.write(scope, { token: 9, floor: 5 }, 'shared'),
    );
    await expectRefused('a write under 4', () => resource.write(scope, { token: 4 }, 'stale'));
    await expectRefused('a write under 4 with the floor 2', () =>
      resource.write(scope, { token: 4, floor: 2 }, 'stale'),
    );
    await expectRefused('an install of 4', () => resource.install(scope, { token: 4, floor: 4 }));
    await expectValue(resource, scope, 'shared', 'stale writes must change nothing');
  }),

  defineCase('a raised floor fences, and is not lowered', ['floors'], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 5', () => resource.write(scope, { token: 5, floor: 5 }, 'a'));
    await expectAccepted('the install of 9 with the floor 9', () => resource.install(scope, { token: 9, floor: 9 }));
    await expectRefused('a write under 5', () => resource.write(scope, { token: 5, floor: 5 }, 'stale'));
    await expectAccepted('a write under 9 that knows the old floor', () =>
      resource.write(scope, { token: 9, floor: 5 }, 'b'),
    );
    await expectRefused('a write under 5 after it', () => resource.write(scope, { token: 5, floor: 5 }, 'stale'));
    await expectRefused('a write under 8 after it', () => resource.write(scope, { token: 8, floor: 5 }, 'stale'));
    await expectValue(resource, scope, 'b', 'stale writes must change nothing');
  }),

  defineCase('an exclusive holder fences all that shared the lock before', ['floors'], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 5', () => resource.write(scope, { token: 5, floor: 5 }, 'a'));
    await expectAccepted('a write under 9', () => resource.write(scope, { token: 9, floor: 5 }, 'b'));
    await expectAccepted('the install of 12', () => resource.install(scope, { token: 12 }));
    for (const holder of [
      { token: 5, floor: 5 },
      { token: 9, floor: 5 },
    ]) {
      await expectRefused(`a write under ${holder.token}`, () => resource.write(scope, holder, 'stale'));
    }
    await expectValue(resource, scope, 'b', 'a new holder reads what those before it wrote', { holder: { token: 12 } });
  }),
];
