import { describe, expect, it } from 'vitest';

import type { BucketRevision } from '../../src/changes/revision.ts';
import { ChangeLog } from '../../src/changes/change-log.ts';

const put = (key: string, bytes = 1): BucketRevision['changes'][number] => ({ type: 'put', key, bytes });

describe('the log of changes', () => {
  it('gives back what was put into it, of every kind', () => {
    const log = new ChangeLog();
    const all: BucketRevision[] = [
      { bucket: 'b', revision: 1, changes: [put('k', 0), { type: 'delete', key: 'ключ/1' }] },
      { bucket: 'x'.repeat(128), revision: 2 ** 53 - 1, changes: [{ type: 'expired', key: '𐍈'.repeat(128) }] },
      { bucket: 'b', revision: 2, changes: [] },
      { bucket: 'b', revision: 3, changes: Array.from({ length: 1_000 }, (_, n) => put('k'.repeat(512 - n / 2), n)) },
      { bucket: 'b', revision: 4, changes: [put('large', 16 * 1024 * 1024)] },
    ];
    const places = all.map((revision) => log.append(revision));
    expect(places.map((place) => log.at(place))).toEqual(all);
    expect(log.bytes).toBeGreaterThan(250_000);
  });

  it('drops the oldest first, and no other, over many pieces', () => {
    const log = new ChangeLog();
    const kept: { readonly place: number; readonly revision: BucketRevision }[] = [];
    for (let number = 1; number <= 20_000; number += 1) {
      const changes = [put('k'.repeat(1 + (number % 300)), number)];
      const revision = { bucket: `b${number % 3}`, revision: number, changes };
      kept.push({ place: log.append(revision), revision });
      if (number % 5 === 0) continue;
      const { bucket, revision: dropped } = kept.shift()?.revision ?? revision;
      expect(log.dropOldest()).toEqual({ bucket, revision: dropped });
    }
    expect(kept.map(({ place }) => log.at(place))).toEqual(kept.map(({ revision }) => revision));
    for (const { revision } of kept) expect(log.dropOldest()?.revision).toBe(revision.revision);
    expect([log.bytes, log.dropOldest()]).toEqual([0, undefined]);
    const again = { bucket: 'b', revision: 1, changes: [put('k')] };
    expect(log.at(log.append(again))).toEqual(again);
  });

  it('says that it has nothing where something was dropped, or is yet to come', () => {
    const log = new ChangeLog();
    const first = log.append({ bucket: 'b', revision: 1, changes: [put('k')] });
    log.append({ bucket: 'b', revision: 2, changes: [put('k')] });
    log.dropOldest();
    for (const place of [first, 1_000, -1]) expect(() => log.at(place)).toThrow('nothing is remembered');
  });
});
