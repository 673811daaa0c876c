import { describe, expect, it } from 'vitest';

import { EMPTY_REPLICA } from '../../../src/replication/core/index.ts';
import { NOTHING_ELSE, PAYLOAD, coreFrom, coreOf, entry, hear, serving } from './support/rig.ts';

const OLD = [entry(1, 41), entry(2, 41), entry(3, 41)];

describe('a replica', () => {
  it('answers an installation when it is durable', () => {
    expect(hear(coreOf('r2', OLD), 'r1', { type: 'install', epoch: 57 })).toEqual([
      { type: 'persist', seq: 1, installed: 57, truncateFrom: undefined, entries: [], ...NOTHING_ELSE },
      {
        type: 'send',
        to: 'r1',
        message: { type: 'installed', epoch: 57, lastIndex: 3, copy: 0, cursor: undefined },
        after: 1,
      },
    ]);
  });

  it('installs an epoch once, however often it is asked', () => {
    const core = coreOf('r2', OLD, 57);
    expect(hear(core, 'r1', { type: 'install', epoch: 57 })).toEqual([
      {
        type: 'send',
        to: 'r1',
        message: { type: 'installed', epoch: 57, lastIndex: 3, copy: 0, cursor: undefined },
        after: undefined,
      },
    ]);
  });

  it('refuses everything of an epoch that is lower, and entries of one that is not installed', () => {
    const core = coreOf('r2', OLD, 57);
    const refused = (epoch: number) => [
      { type: 'send', to: 'r1', message: { type: 'refused', epoch, installed: 57 }, after: undefined },
    ];
    const append = { type: 'append', copy: 0, prevIndex: 3, prevEpoch: 41, commit: 0, entries: [] } as const;
    expect(hear(core, 'r1', { type: 'install', epoch: 41 })).toEqual(refused(41));
    expect(hear(core, 'r1', { type: 'confirm', epoch: 41, round: 1 })).toEqual(refused(41));
    expect(hear(core, 'r1', { ...append, epoch: 41 })).toEqual(refused(41));
    expect(hear(core, 'r1', { ...append, epoch: 59 })).toEqual(refused(59));
    expect(core.status).toMatchObject({ installed: 57, lastIndex: 3 });
  });

  it('drops its own end where the logs differ, and answers when that is durable', () => {
    const core = coreOf('r2', OLD, 57);
    const entries = [entry(2, 41), entry(3, 57)];
    const append = { type: 'append', epoch: 57, copy: 0, prevIndex: 1, prevEpoch: 41, commit: 2, entries } as const;
    expect(hear(core, 'r1', append)).toEqual([
      { type: 'persist', seq: 1, installed: undefined, truncateFrom: 3, entries: [entry(3, 57)], ...NOTHING_ELSE },
      { type: 'send', to: 'r1', message: { type: 'appended', epoch: 57, copy: 0, index: 3 }, after: 1 },
      { type: 'apply', upTo: 2 },
    ]);
  });

  it('does not answer for what lies behind the entries that it was sent', () => {
    const core = coreOf('r2', OLD, 57);
    const append = { type: 'append', epoch: 57, copy: 0, prevIndex: 1, prevEpoch: 41, commit: 3, entries: [] } as const;
    expect(hear(core, 'r1', append)).toEqual([
      { type: 'send', to: 'r1', message: { type: 'appended', epoch: 57, copy: 0, index: 1 }, after: undefined },
      { type: 'apply', upTo: 1 },
    ]);
  });

  it.each([
    ['has another entry before them', 3, 40, 2],
    ['lacks the entry before them', 7, 57, 3],
  ])('says where to try next when it %s', (_, prevIndex, prevEpoch, tryAfter) => {
    const core = coreOf('r2', OLD, 57);
    const append = { type: 'append', epoch: 57, copy: 0, prevIndex, prevEpoch, commit: 0, entries: [] } as const;
    const message = { type: 'mismatch', epoch: 57, prevIndex, tryAfter };
    expect(hear(core, 'r1', append)).toEqual([{ type: 'send', to: 'r1', message, after: undefined }]);
  });

  it('stops before it drops an entry that is committed', () => {
    const core = coreOf('r2', OLD, 57);
    hear(core, 'r1', { type: 'append', epoch: 57, copy: 0, prevIndex: 3, prevEpoch: 41, commit: 3, entries: [] });
    const entries = [entry(3, 57)];
    const append = { type: 'append', epoch: 57, copy: 0, prevIndex: 2, prevEpoch: 41, commit: 3, entries } as const;
    expect(() => hear(core, 'r1', append)).toThrow('committed-entries-stay');
  });

  it('rejects what clients ask of it', () => {
    const core = coreOf('r2');
    expect(core.step({ type: 'propose', ticket: 4, payload: new Uint8Array() })).toEqual([
      { type: 'rejected', tickets: [4] },
    ]);
    expect(core.step({ type: 'read', ticket: 5 })).toEqual([{ type: 'rejected', tickets: [5] }]);
  });

  it('ends its own epoch when it installs a higher one', () => {
    const core = serving();
    const [steppedDown, persist] = hear(core, 'r2', { type: 'install', epoch: 59 });
    expect(steppedDown).toEqual({ type: 'stepped-down', epoch: 57, reason: 'superseded' });
    expect(persist).toMatchObject({ type: 'persist', installed: 59 });
    expect(core.status).toMatchObject({ role: 'replica', installed: 59, lastIndex: 1 });
  });

  it('stops when another says to be the primary of its own epoch', () => {
    const core = serving();
    expect(() => hear(core, 'r2', { type: 'install', epoch: 57 })).toThrow('an-epoch-has-one-primary');
  });

  it('does not start with entries of an epoch that it has not installed', () => {
    expect(() => coreOf('r2', [entry(1, 57)], 41)).toThrow('entries-are-of-installed-epochs');
  });
});

describe('a replica that is copied to', () => {
  const PART = { from: '', to: '02', last: false, chunk: PAYLOAD };
  const LAST = { from: '02', to: '03', last: true, chunk: PAYLOAD };
  const copy = { type: 'copy', epoch: 57, copy: 1, base: { index: 900, epoch: 41 } } as const;
  const dropped = { step: 'drop', epoch: 57, copy: 1, cursor: '' };

  it('drops all that it has with the first part, and says how far it has come when that is durable', () => {
    const core = coreOf('r3', OLD, 57);
    expect(hear(core, 'r1', { ...copy, part: PART })).toMatchObject([
      { type: 'persist', seq: 1, copy: dropped },
      { type: 'persist', seq: 2, copy: { step: 'part', part: PART } },
      { type: 'send', message: { type: 'copied', epoch: 57, copy: 1, cursor: '02' }, after: 2 },
    ]);
    expect(core.status).toMatchObject({ lastIndex: 0, commit: 0, copying: true });
  });

  it('has the log of the primary up to the base with the last part', () => {
    const core = coreOf('r3', OLD, 57);
    hear(core, 'r1', { ...copy, part: PART });
    expect(hear(core, 'r1', { ...copy, part: LAST })).toMatchObject([
      { type: 'persist', copy: { step: 'end', part: LAST, base: copy.base } },
      { type: 'send', message: { type: 'appended', epoch: 57, copy: 1, index: 900 }, after: 3 },
    ]);
    expect(core.status).toMatchObject({ lastIndex: 900, commit: 900, base: 900, copying: false });
    const entries = [entry(901, 57)];
    const append = { type: 'append', epoch: 57, copy: 1, prevIndex: 900, prevEpoch: 41, commit: 901, entries } as const;
    expect(hear(core, 'r1', append)).toMatchObject([
      { type: 'persist', entries },
      { type: 'send', message: { type: 'appended', index: 901 } },
      { type: 'apply', upTo: 901 },
    ]);
  });

  it('drops nothing for a copy that comes again, and takes no part twice', () => {
    const core = coreOf('r3', OLD, 57);
    hear(core, 'r1', { ...copy, part: PART });
    const copied = [{ type: 'send', message: { type: 'copied', cursor: '02' } }];
    expect(hear(core, 'r1', { ...copy, part: PART })).toMatchObject(copied);
    hear(core, 'r1', { ...copy, part: LAST });
    expect(hear(core, 'r1', { ...copy, part: PART })).toEqual([]);
    expect(core.status).toMatchObject({ lastIndex: 900, copying: false });
  });

  it('takes no entries while it is, and none that follow what it had before', () => {
    const core = coreOf('r3', OLD, 57);
    const append = { type: 'append', epoch: 57, copy: 0, prevIndex: 0, prevEpoch: 0, commit: 0, entries: OLD } as const;
    hear(core, 'r1', { ...copy, part: PART });
    expect(hear(core, 'r1', append)).toEqual([]);
    expect(hear(core, 'r1', { ...append, copy: 1 })).toEqual([]);
    hear(core, 'r1', { ...copy, part: LAST });
    expect(hear(core, 'r1', append)).toEqual([]);
  });

  it('refuses a copy of a lower epoch, and drops what one has brought with the epoch that ends it', () => {
    const core = coreOf('r3', OLD, 57);
    hear(core, 'r1', { ...copy, part: PART });
    expect(hear(core, 'r2', { type: 'install', epoch: 59 })).toMatchObject([
      { type: 'persist', installed: 59, copy: { step: 'drop', epoch: 59, copy: 0, cursor: undefined } },
      { type: 'send', message: { type: 'installed', epoch: 59, lastIndex: 0, copy: 0, cursor: undefined } },
    ]);
    expect(hear(core, 'r1', { ...copy, part: LAST })).toMatchObject([{ type: 'send', message: { type: 'refused' } }]);
  });

  it('says after a start how far the copy had come', () => {
    const durable = { ...EMPTY_REPLICA, installed: 57, copy: { epoch: 57, copy: 1, cursor: '02' } };
    const core = coreFrom('r3', durable);
    expect(hear(core, 'r1', { type: 'install', epoch: 57 })).toMatchObject([
      { type: 'send', message: { type: 'installed', lastIndex: 0, copy: 1, cursor: '02' } },
    ]);
  });

  it('does not claim the group, whatever the configuration says', () => {
    const core = coreOf('r3', OLD, 41);
    hear(core, 'r1', { ...copy, epoch: 41, part: PART });
    const configuration = { version: 9, epoch: 41, primary: 'r1', inSync: ['r1', 'r3'] };
    const effects = core.step({ type: 'elected', token: 57, configuration });
    expect(effects).toEqual([{ type: 'stepped-down', epoch: 57, reason: 'not-in-sync' }]);
  });
});
