import { EntryType } from '@holdfast/raft';
import { StateMachine, type TreeLookup } from '@holdfast/state';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scene } from './support/watching.ts';

const PATHS = ['/a', '/b', '/a/c', '/a/c/d', '/b/e'];
const RECURSIVE = ['/', '/a'];
const LOCKS = ['l', 'm'];

const step = fc.oneof(
  fc.record({ what: fc.constantFrom('create', 'set', 'delete'), path: fc.constantFrom(...PATHS) }),
  fc.record({ what: fc.constant('acquire'), path: fc.constantFrom(...LOCKS) }),
);

interface Traces {
  readonly czxid: number;
  readonly mzxid: number;
  readonly pzxid: number;
}

/** What is at each of the paths that the script can reach. */
function stateOf(tree: TreeLookup): Map<string, Traces> {
  const locks = LOCKS.flatMap((lock) => {
    const container = `/holdfast/locks/${lock}`;
    return [container, ...Array.from({ length: 8 }, (_, n) => `${container}/q-000000000${n}`)];
  });
  const state = new Map<string, Traces>();
  for (const path of ['/', '/holdfast', '/holdfast/locks', ...PATHS, ...locks]) {
    const node = tree.find(path);
    if (node !== undefined) state.set(path, tree.stat(node));
  }
  return state;
}

/** What has become of each node from one state to the next, in no order. */
function differences(before: ReadonlyMap<string, Traces>, after: ReadonlyMap<string, Traces>): string[] {
  const found: string[] = [];
  for (const [path, now] of after) {
    const then = before.get(path);
    if (then === undefined || then.czxid !== now.czxid) found.push(`created ${path}`);
    else if (then.mzxid !== now.mzxid) found.push(`changed ${path}`);
    if (then !== undefined && then.pzxid !== now.pzxid) found.push(`children ${path}`);
  }
  for (const path of before.keys()) if (!after.has(path)) found.push(`deleted ${path}`);
  return found;
}

function isBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above === '/' ? '/' : `${above}/`);
}

describe('the events of random changes', () => {
  it('are exactly the differences of successive states, for each watch those that concern it, whoever listens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { ensemble, server, changing, watcher } = scene();
        const state = (): Map<string, Traces> => stateOf(server.machine.state.tree);
        const recursive = RECURSIVE.map((path) => {
          const client = watcher();
          client.watch([['recursive', path]]);
          return { path, client };
        });
        const persistent = [...PATHS, '/'].map((path) => {
          const client = watcher();
          client.watch([['persistent', path]]);
          return { path, client };
        });
        const late = watcher();
        const from = ensemble.log.length;
        const all: string[] = [];
        for (const { what, path } of steps) {
          const before = state();
          const index = changing[what as 'create' | 'set' | 'delete' | 'acquire'](path);
          const expected = differences(before, state());
          // The same entry may create a queue node and grant it, which a stat cannot tell from a creation.
          const told = (client: typeof late): string[] =>
            client
              .heard()
              .map((text) => {
                expect(text).toMatch(new RegExp(` ${index}$`));
                return text.replace(/ \d+$/, '');
              })
              .filter(
                (text, _, all) => !(text.startsWith('changed') && all.includes(text.replace('changed', 'created'))),
              )
              .toSorted();
          const concerning = (concerns: (type: string, at: string) => boolean): string[] =>
            expected
              .filter((text) => {
                const [type = '', at = ''] = text.split(' ');
                return concerns(type, at);
              })
              .toSorted();
          for (const { path: watched, client } of recursive) {
            expect(told(client)).toEqual(concerning((type, at) => type !== 'children' && isBelow(at, watched)));
          }
          for (const { path: watched, client } of persistent) {
            expect(told(client)).toEqual(concerning((_, at) => at === watched));
          }
          all.push(...concerning((type) => type !== 'children').map((text) => `${text} ${index}`));
        }
        const replayed = late.watch([['recursive', '/']], { from }).map((text) => text.replace(/^\d+: /, ''));
        expect(
          replayed
            .slice(0, -1)
            .filter((text) => !text.startsWith('changed'))
            .toSorted(),
        ).toEqual(all.filter((text) => !text.startsWith('changed')).toSorted());

        const deaf = new StateMachine();
        for (const { type, index, data } of ensemble.log) {
          if (type === EntryType.command) deaf.apply(index, data);
          else deaf.applyNoop(index);
        }
        expect(deaf.digest).toBe(server.machine.state.digest);
      }),
      { numRuns: 40 },
    );
  });
});
