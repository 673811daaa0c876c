import type { DiskErrorCode } from '@holdfast/runtime';
import { SimWorld, type DiskOperation } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { openJournalEngine } from '../../src/engines/journal-engine.ts';

const DATA = '/data/fenced-kv';
const WRITES = 60;
const CODES: readonly DiskErrorCode[] = ['IO', 'NO_SPACE', 'READ_ONLY'];

class Life {
  readonly world: SimWorld;
  acknowledged = 0;

  constructor(seed: string) {
    this.world = new SimWorld({ seed });
  }

  get host() {
    return this.world.host('kv');
  }

  /** Small journals, so that rewrites come often. */
  open(): Promise<FencedStore> {
    const { disk } = this.host.runtime;
    const opening = async (): Promise<FencedStore> =>
      FencedStore.open(await openJournalEngine(DATA, { disk, rewriteMinBytes: 2_000 }));
    return this.world.complete(opening());
  }

  /** Writes under rising tokens until one fails; that failure, or undefined. */
  async write(store: FencedStore): Promise<unknown> {
    for (let number = this.acknowledged + 1; number <= WRITES; number += 1) {
      const writing = store.write('b', [{ key: `k${number % 5}`, value: new Uint8Array(100).fill(number) }], {
        token: number,
      });
      const error = await this.world.complete(
        writing.then(
          () => undefined,
          (caught: unknown) => caught,
        ),
      );
      if (error !== undefined) return error;
      this.acknowledged = number;
    }
    return undefined;
  }

  restart(how: 'kill' | 'power'): void {
    if (how === 'kill') this.host.kill();
    else this.host.crash({ tear: 'random' });
    this.host.restart();
  }

  /** Nothing that was acknowledged is missing, and the fence has not fallen. */
  check(store: FencedStore): void {
    const { highest } = store.info('b');
    expect(highest).toBeGreaterThanOrEqual(this.acknowledged);
    expect(highest).toBeLessThanOrEqual(this.acknowledged + 1);
    for (let number = Math.max(1, this.acknowledged - 3); number <= this.acknowledged; number += 1) {
      expect(store.get('b', `k${number % 5}`).value[0]).toBeGreaterThanOrEqual(number);
    }
  }
}

describe('a store whose disk fails', () => {
  const cases = (['append', 'rename', 'syncDirectory', 'open'] as const).flatMap((operation) =>
    CODES.flatMap((code) => (['kill', 'power'] as const).map((end) => [operation, code, end] as const)),
  );
  it.each(cases)('in %s (%s) stops, and after a %s has lost nothing and lowered no token', async (...which) => {
    const [operation, code, end] = which;
    const life = new Life(which.join(' '));
    const first = await life.open();
    for (let writes = 0; writes < 10; writes += 1) {
      await life.world.complete(
        first.write('b', [{ key: `k${(writes + 1) % 5}`, value: new Uint8Array(100).fill(writes + 1) }], {
          token: writes + 1,
        }),
      );
      life.acknowledged = writes + 1;
    }
    life.host.disk.failNext(operation, code);
    const error = await life.write(first);
    expect(error).toMatchObject({ name: 'EngineError', code: 'DISK_ERROR', indeterminate: true });
    expect(await life.write(first)).toMatchObject({ code: 'DISK_ERROR', indeterminate: false });

    life.restart(end);
    const second = await life.open();
    life.check(second);
    life.acknowledged = second.info('b').highest;
    expect(await life.write(second)).toBeUndefined();
    life.check(second);
  });

  it('that is full stops the same way, and goes on after a restart with room', async () => {
    const life = new Life('full');
    const store = await life.open();
    life.host.disk.setFreeBytes(1_000);
    expect(await life.write(store)).toMatchObject({ code: 'DISK_ERROR', indeterminate: true });
    expect(life.acknowledged).toBeGreaterThan(0);
    life.restart('kill');
    life.host.disk.setFreeBytes(2 ** 30);
    const again = await life.open();
    life.check(again);
    life.acknowledged = again.info('b').highest;
    expect(await life.write(again)).toBeUndefined();
  });
});

describe('a journal that cannot be opened', () => {
  it.each<DiskOperation>(['makeDirectory', 'list', 'open', 'read', 'append', 'syncDirectory'])(
    'for an error in %s says so by its code, and can be opened later',
    async (operation) => {
      const life = new Life(operation);
      const first = await life.open();
      await life.write(first);
      life.restart('kill');
      life.host.disk.failNext(operation, 'IO');
      await expect(life.open()).rejects.toMatchObject({ name: 'EngineError', code: 'DISK_ERROR' });
      life.check(await life.open());
    },
  );
});
