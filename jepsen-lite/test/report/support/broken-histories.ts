/** A small history for each checker, in which it finds something broken. */

import type { CheckerName } from '../../../src/checkers/check.ts';
import type { History } from '../../../src/history/history.ts';
import { GroupStory } from '../../support/group/group-story.ts';

type Telling = (story: GroupStory) => void;

const TELLINGS: Readonly<Record<Exclude<CheckerName, 'unfenced'>, Telling>> = {
  completions(story) {
    const asked = story.ask({ f: 'acquire', lock: 'a', session: 1 });
    asked.fail('TIMEOUT');
    asked.ok({ token: 11, hold: 11 });
  },
  grants(story) {
    story.acquire('a', 1);
    story.ask({ f: 'acquire', lock: 'a', session: 2 }).ok({ token: 99, hold: 99 });
  },
  owners(story) {
    story.acquire('a', 1);
    story.acquire('a', 2);
  },
  tokens(story) {
    story.ask({ f: 'acquire', lock: 'a', session: 1 }).ok({ token: 20, hold: 20 });
    story.ask({ f: 'acquire', lock: 'a', session: 2 }).ok({ token: 15, hold: 15 });
  },
  'linearizable-locks'(story) {
    story.ask({ f: 'acquire', lock: 'a', session: 1 }).ok({ token: 20, hold: 20 });
    story.ask({ f: 'acquire', lock: 'a', session: 2 }).ok({ token: 15, hold: 15 });
  },
  transactions(story) {
    for (const path of ['/bank-0', '/bank-1']) {
      const operations = [{ op: 'create', path, value: '' }] as const;
      story.ask({ f: 'transaction', operations }).ok({ index: 5, results: [path] });
    }
  },
  'ttl-nodes'(story) {
    const path = '/limited/n1';
    story.ask({ f: 'create', path, value: '', ttlMs: 1_000 }).ok();
    story.ask({ f: 'read', path, consistency: 'linearizable' }).ok({ value: null });
  },
  containers(story) {
    const path = '/containers/b1';
    story.ask({ f: 'create', path, value: '', container: true }).ok();
    story.ask({ f: 'read', path, consistency: 'linearizable' }).ok({ value: null });
  },
  watches(story) {
    const told = { type: 'watched', watch: 1, path: '/watched/n1' } as const;
    story.record({ ...told, event: 'started', index: 5 });
    story.record({ ...told, event: 'changed', index: 6 });
    story.record({ ...told, event: 'changed', index: 6 });
  },
  order(story) {
    story.ask({ f: 'acquire', lock: 'a', session: 1 });
    story.enqueue('a', 1);
    const later = story.enqueue('a', 2);
    story.grant('a', 2, later.hold, story.nextIndex());
  },
  exclusion(story) {
    const first = story.acquire('a', 1);
    story.pass(40);
    story.ask({ f: 'acquire', lock: 'a', session: 2 }).ok({ token: 50, hold: 50 });
    story.pass(5);
    story.believe(first);
  },
  belief(story) {
    const held = story.acquire('a', 1);
    story.release(held);
    story.believe(held);
  },
  releases(story) {
    const held = story.acquire('a', 1);
    story.release(held);
    story.ask({ f: 'release', lock: 'a', session: 1, token: held.token, hold: held.hold }).ok();
  },
  ghosts(story) {
    const asked = story.ask({ f: 'acquire', lock: 'a', session: 1, waitMs: 100 });
    const waits = story.enqueue('a', 1);
    asked.fail('TIMEOUT');
    story.record({ type: 'cancelled', call: asked.call });
    story.grant('a', 1, waits.hold, story.nextIndex());
    story.quiet();
  },
  expiry(story) {
    story.record({ type: 'session', event: 'connected', session: 1, timeoutMs: 10_000 });
    story.pass(100);
    story.record({ type: 'renewed', session: 1, sentMs: 90 });
    story.pass(500);
    story.end(1, 'expired');
  },
  fence(story) {
    story.ask({ f: 'fence', bucket: 'a', token: 9 }).ok();
    story.pass(10);
    story.ask({ f: 'put', bucket: 'a', key: 'n', value: '5:1', token: 5 }, 'c2').ok();
  },
  'granted-tokens'(story) {
    story.acquire('a', 1);
    story.record({ type: 'accepted', f: 'put', bucket: 'a', token: 77 }, 'kv');
  },
  'lost-updates'(story) {
    story.ask({ f: 'put', bucket: 'a', key: 'n', value: '5:1', token: 5 }).ok();
    story.ask({ f: 'put', bucket: 'a', key: 'n', value: '9:1', token: 9 }).ok();
    story.ask({ f: 'get', bucket: 'a', key: 'n' }).ok({ value: '9:1' });
  },
  registers(story) {
    story.ask({ f: 'create', path: '/x', value: 'old' }).ok();
    story.ask({ f: 'set', path: '/x', value: 'new' }).ok({ newVersion: 1 });
    story.ask({ f: 'read', path: '/x', consistency: 'linearizable' }, 'c2').ok({ value: 'old', version: 0 });
  },
  'list-append'(story) {
    story.ask({ f: 'create', path: '/list-0-0', value: '' }).ok();
    story.ask({ f: 'set', path: '/list-0-0', value: 'a', version: 0 }).ok({ newVersion: 1 });
    story.ask({ f: 'read', path: '/list-0-0', consistency: 'linearizable' }, 'c2').ok({ value: '', version: 0 });
  },
  'exactly-once'(story) {
    const created = story.ask({ f: 'create-sequential', path: '/once-0-0/n1-', value: 'x' });
    created.ok({ created: '/once-0-0/n1-0000000000' });
    story.ask({ f: 'list', path: '/once-0-0' }, 'c2').ok({ names: ['n1-0000000000', 'n1-0000000001'] });
  },
  waits(story) {
    story.acquire('a', 1);
    story.ask({ f: 'acquire', lock: 'a', session: 2 });
    story.remove(story.enqueue('a', 2), 'cancelled');
  },
  'bounded-waiting'(story) {
    story.record({ type: 'phase', phase: 'healed' }, 'harness');
    const held = story.acquire('a', 1);
    const asked = story.ask({ f: 'acquire', lock: 'a', session: 1 });
    const wait = story.enqueue('a', 1);
    story.release(held);
    story.pass(20_000);
    const { token } = story.grant('a', 1, wait.hold, story.nextIndex());
    asked.ok({ token, hold: wait.hold });
  },
  several(story) {
    story.ask({ f: 'acquire', lock: 'a', session: 1, others: ['b'] });
    story.ask({ f: 'acquire', lock: 'b', session: 1, others: ['a'] });
    const hold = story.nextIndex();
    for (const lock of ['a', 'b']) story.enqueue(lock, 1, hold);
    for (const lock of ['a', 'b']) story.grant(lock, 1, hold, story.nextIndex());
  },
  entries(story) {
    const { hold } = story.enqueue('a', 1);
    const { token } = story.grant('a', 1, hold);
    story.enter('a', 1, '1.0', { token, hold });
    story.enter('a', 1, '1.0', { token: token + 1, hold });
  },
  deadlocks(story) {
    story.acquire('a-crossed', 1);
    story.acquire('b-crossed', 2);
    story.enqueue('b-crossed', 1);
    story.enqueue('a-crossed', 2);
  },
  delays(story) {
    const asked = story.ask({ f: 'acquire', lock: 'a', session: 1, delayMs: 4_000 });
    const { hold } = story.enqueue('a', 1);
    story.grant('a', 1, hold);
    story.pass(1);
    asked.ok({ token: hold, hold });
    story.enqueue('a', 2);
    const { index } = story.remove({ lock: 'a', session: 1, hold }, 'expired');
    story.grant('a', 2, index - 1, index);
  },
  'shared-reads'(story) {
    const reader = story.acquire('a', 1, { type: 'readWrite', write: false });
    const look = { f: 'get', bucket: 'a', key: 'n', hold: reader.hold } as const;
    story.ask({ f: 'fence', bucket: 'a', token: reader.token }).ok();
    story.ask(look).ok({ value: '5:1' });
    story.ask(look).ok({ value: '9:2' });
    story.believe(reader);
  },
  transfers(story) {
    story.ask({ f: 'put', bucket: 'a', key: 'amount', value: '5:1:95:-5', token: 5 }).ok();
    story.ask({ f: 'put', bucket: 'a', key: 'amount', value: '9:1:97:-3', token: 9 }, 'c2').ok();
  },
  epochs(story) {
    story.put('a', 7);
    story.get('a', 1, 3);
  },
  configurations(story) {
    story.configured(5, 'r1', ['r1', 'r2']);
    story.configured(8, 'r3', ['r3']);
  },
  replicas(story) {
    story.kept('r1', 'a');
    story.kept('r2');
  },
  'linearizable-keys'(story) {
    story.put('a');
    story.get(null);
  },
  liveness(story) {
    story.acquire('a', 1);
    story.ask({ f: 'acquire', lock: 'a', session: 2 });
    story.enqueue('a', 2);
    story.quiet();
  },
};

export const BROKEN_CHECKERS = Object.keys(TELLINGS) as readonly (keyof typeof TELLINGS)[];

export function brokenHistory(checker: keyof typeof TELLINGS): History {
  const story = new GroupStory();
  TELLINGS[checker](story);
  return story.history;
}
