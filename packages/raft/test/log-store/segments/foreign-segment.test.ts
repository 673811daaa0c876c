import { describe, expect, it } from 'vitest';
import { serverId } from '../../../src/core/index.ts';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { IdentityMismatchError } from '../../../src/log-store/errors/identity-mismatch-error.ts';
import { contentOf } from '../support/log-model.ts';
import { openLog } from '../support/wal-fixture.ts';
import { onLog } from '../support/written-log.ts';

describe('the log of another server', () => {
  it.each([
    ['cluster', { clusterId: 'production' }],
    ['server', { serverId: serverId(2) }],
  ])('is refused by its %s id, with both named', (_what, other) =>
    onLog(3, 100, async ({ machine }) => {
      const error: unknown = await openLog(machine, other).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(IdentityMismatchError);
      expect(error).toMatchObject({ found: { clusterId: 'test', serverId: 1 }, expected: other });
      expect(await contentOf(await openLog(machine))).toHaveLength(3);
    }),
  );

  it('is refused, and not cut, when only the incarnation differs', () =>
    onLog(3, 100, async ({ machine }) => {
      const error: unknown = await openLog(machine, { incarnation: 'f'.repeat(32) }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(DamagedLogError);
      expect(await contentOf(await openLog(machine))).toHaveLength(3);
    }));
});
