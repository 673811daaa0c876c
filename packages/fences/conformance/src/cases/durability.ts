/** A token that is lost with its server lets every older holder in again, so it must be as durable as what it protects. */

import { defineCase, type ConformanceCase } from '../case.ts';
import { expectAccepted, expectRefused, expectValue, inTime } from '../checks.ts';
import type { FencedResource } from '../resource.ts';

/** It has begun to serve when it resolves; connections may be new ones. */
async function again(resource: FencedResource, how: 'restart' | 'crash'): Promise<void> {
  await inTime(`the ${how}`, async () => await resource[how]?.());
}

function keepsTheHighest(how: 'restart' | 'crash'): ConformanceCase {
  return defineCase(`a ${how} keeps values and tokens`, [how], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 5', () => resource.write(scope, { token: 5 }, 'older'));
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'newer'));
    await again(resource, how);
    await expectRefused(`a write under 5 after the ${how}`, () => resource.write(scope, { token: 5 }, 'stale'));
    await expectRefused(`an install of 6 after the ${how}`, () => resource.install(scope, { token: 6 }));
    await expectValue(resource, scope, 'newer', 'what was acknowledged must be kept');
    await expectAccepted('a further write under 7', () => resource.write(scope, { token: 7 }, 'newest'));
  });
}

function keepsAnInstall(how: 'restart' | 'crash'): ConformanceCase {
  return defineCase(`a ${how} between an install and a write keeps the token`, [how], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 5', () => resource.write(scope, { token: 5 }, 'read'));
    await expectAccepted('the install of 7', () => resource.install(scope, { token: 7 }));
    await again(resource, how);
    await expectRefused(`a write under 5 after the ${how}`, () => resource.write(scope, { token: 5 }, 'stale'));
    await expectValue(resource, scope, 'read', 'what the new holder has read must not change under its hands');
    await expectAccepted('the write under 7', () => resource.write(scope, { token: 7 }, 'computed'));
  });
}

export const durabilityCases: readonly ConformanceCase[] = [
  keepsTheHighest('restart'),
  keepsAnInstall('restart'),
  keepsTheHighest('crash'),
  keepsAnInstall('crash'),

  defineCase(
    'a write under way in a crash is written or not, and leaves no lock',
    ['crash', 'slowWrite'],
    async (stage) => {
      const { resource } = stage;
      const scope = await resource.scope();
      await expectAccepted('the first write', () => resource.write(scope, { token: 5 }, 'before'));
      const slow = await inTime('a slow write', async () => await resource.slowWrite?.(scope, { token: 5 }, 'never'));
      await again(resource, 'crash');
      await slow?.abandon().catch(() => undefined);
      await expectValue(resource, scope, 'before', 'a write that was not committed must be gone after the crash');
      await expectAccepted('the install of 7', () => resource.install(scope, { token: 7 }));
      await expectRefused('a write under 5', () => resource.write(scope, { token: 5 }, 'stale'));
    },
  ),
];
