/** The gap before a new holder's first write: without an install, what it has read may be overwritten under its hands. */

import { defineCase, type ConformanceCase } from '../case.ts';
import { expectAccepted, expectRefused, expectValue } from '../checks.ts';

export const installCases: readonly ConformanceCase[] = [
  defineCase('no older write gets in between an install and the first write', [], async ({ resource, another }) => {
    const scope = await resource.scope();
    const old = await another();
    await expectAccepted('a write under 5', () => old.write(scope, { token: 5 }, 'read'));
    await expectAccepted('the install of 7', () => resource.install(scope, { token: 7 }));
    await expectValue(resource, scope, 'read', 'a new holder must read what was written before its install', {
      holder: { token: 7 },
    });
    await expectRefused('a write under 5 after the install of 7', () => old.write(scope, { token: 5 }, 'late'));
    await expectValue(resource, scope, 'read', 'what the new holder has read must not change under its hands', {
      holder: { token: 7 },
    });
    await expectAccepted('the first write under 7', () => resource.write(scope, { token: 7 }, 'computed'));
    await expectValue(resource, scope, 'computed', 'it was written last');
  }),

  defineCase('an install fences a scope that nobody has written', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('the install of 7', () => resource.install(scope, { token: 7 }));
    await expectRefused('a write under 6', () => resource.write(scope, { token: 6 }, 'late'));
    await expectValue(resource, scope, null, 'a stale write must change nothing');
  }),

  defineCase('a stale install is refused and lowers nothing', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('the install of 7', () => resource.install(scope, { token: 7 }));
    await expectRefused('the install of 5', () => resource.install(scope, { token: 5 }));
    await expectRefused('a write under 5', () => resource.write(scope, { token: 5 }, 'late'));
    await expectRefused('a write under 6', () => resource.write(scope, { token: 6 }, 'late'));
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'mine'));
  }),

  defineCase('a write installs its token as an install does', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'mine'));
    await expectRefused('the install of 6', () => resource.install(scope, { token: 6 }));
    await expectAccepted('a further write under 7', () => resource.write(scope, { token: 7 }, 'still mine'));
  }),

  defineCase('an install can be repeated', [], async ({ resource }) => {
    const scope = await resource.scope();
    for (const time of ['first', 'second', 'third']) {
      await expectAccepted(`the ${time} install of 7`, () => resource.install(scope, { token: 7 }));
    }
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'mine'));
    await expectAccepted('an install of 7 after it', () => resource.install(scope, { token: 7 }));
    await expectValue(resource, scope, 'mine', 'an install writes nothing');
  }),
];
