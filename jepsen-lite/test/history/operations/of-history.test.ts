import { describe, expect, it } from 'vitest';

import { checkLinearizable } from '../../../src/checkers/linearizability/linearizable.ts';
import { encodeHistory } from '../../../src/history/json-lines.ts';
import { listOperations, registerOperations } from '../../../src/history/operations/of-history.ts';
import { lockOperations } from '../../../src/history/operations/of-locks.ts';
import { readOperations } from '../../../src/history/operations/read.ts';
import { listAppend } from '../../../src/models/list-append.ts';
import { Story } from '../../support/story.ts';

describe('a recorded run', () => {
  it('has its locks as operations of sessions, and the end of each session, which may come at any time', () => {
    const story = new Story();
    const held = story.acquire('a', 7);
    story.release(held);
    const operations = lockOperations(story.history);
    expect(operations).toMatchObject([
      { f: 'acquire', key: 'a', client: '7', output: { token: held.token } },
      { f: 'release', key: 'a', client: '7', input: { token: held.token } },
      { f: 'expire', client: '7', returnedAt: Infinity },
    ]);
    // Not before the release, which only a session that lives can do.
    expect(operations[2]?.invokedAt).toBe(operations[1]?.invokedAt);
  });

  it('has its nodes and the keys of the store as registers', () => {
    const story = new Story();
    story.ask({ f: 'create', path: '/n', value: 'x', session: 1 }).ok();
    story.ask({ f: 'set', path: '/n', value: 'y', version: 3, session: 1 }).fail('BAD_VERSION');
    story.ask({ f: 'delete', path: '/n', session: 1 }).info();
    story.ask({ f: 'read', path: '/n', consistency: 'local' }).ok({ value: 'x' });
    story.ask({ f: 'read', path: '/n', consistency: 'linearizable' }).ok({ value: null });
    story.ask({ f: 'put', bucket: 'b', key: 'k', value: '1', token: 4 }).ok();
    expect(registerOperations(story.history)).toMatchObject([
      { f: 'write', key: '/n', input: 'x' },
      { f: 'write', key: '/n', input: null, returnedAt: Infinity },
      { f: 'read', key: '/n', output: null },
      { f: 'write', key: 'b/k', input: '1' },
    ]);
  });

  it('has the lists in its nodes as what was appended to them and read', () => {
    const story = new Story();
    story.ask({ f: 'create', path: '/list-0-0', value: '' }).ok();
    story.ask({ f: 'set', path: '/list-0-0', value: 'a', version: 0 }).ok({ newVersion: 1 });
    story.ask({ f: 'set', path: '/list-0-0', value: 'a b', version: 1 }).info();
    story.ask({ f: 'set', path: '/list-0-0', value: 'a c', version: 1 }).fail('BAD_VERSION');
    story.ask({ f: 'read', path: '/list-0-0', consistency: 'linearizable' }).ok({ value: 'a b', version: 2 });
    story.ask({ f: 'read', path: '/register-0', consistency: 'linearizable' }).ok({ value: 'a' });
    const operations = listOperations(story.history);
    expect(operations).toMatchObject([
      { f: 'append', key: '/list-0-0', input: 'a' },
      { f: 'append', key: '/list-0-0', input: 'b', returnedAt: Infinity },
      { f: 'read', key: '/list-0-0', output: ['a', 'b'] },
    ]);
    expect(checkLinearizable(operations, listAppend()).type).toBe('valid');
  });

  it('is read from its file, with the lines of the events, as the model wants it', () => {
    const story = new Story();
    story.release(story.acquire('a', 7));
    const text = encodeHistory(story.history);
    expect(readOperations(text, { model: 'fenced-mutex' })).toMatchObject([{ line: 2 }, { line: 6 }, { f: 'expire' }]);
    expect(readOperations(text, { model: 'register' })).toEqual([]);
    expect(readOperations(text, { model: 'semaphore' })).toMatchObject([{ f: 'expire' }]);
    expect(() => readOperations(text, { model: 'kv' })).toThrow(/locks, registers and lists, not a kv/);
  });
});
