import { describe, expect, it } from 'vitest';

import type { NodeListener, StateMachine } from '@holdfast/state';

import { bytesOf, restore } from '../support/snapshots.ts';
import { Solo } from '../support/solo.ts';

/** What is told, as `kind path index`; paths are asked for when they are told. */
class Ear {
  told: string[] = [];
  readonly stop: () => void;

  constructor(machine: StateMachine) {
    const hear: NodeListener = (kind, node, index) => this.told.push(`${kind} ${machine.pathOf(node)} ${index}`);
    this.stop = machine.listen(hear);
  }

  taken(): string[] {
    const { told } = this;
    this.told = [];
    return told;
  }
}

describe('the change feed', () => {
  it('tells each change of a node in order, a node before its parent, and a deletion while the path is there', () => {
    const solo = new Solo();
    const session = solo.open();
    const ear = new Ear(solo.machine);
    session.made('/a');
    expect(ear.taken()).toEqual([`created /a ${solo.index}`, `children / ${solo.index}`]);
    session.made('/a/b', { ephemeral: true });
    expect(ear.taken()).toEqual([`created /a/b ${solo.index}`, `children /a ${solo.index}`]);
    session.set('/a/b', 'data');
    expect(ear.taken()).toEqual([`data /a/b ${solo.index}`]);
    session.delete('/a/b');
    expect(ear.taken()).toEqual([`deleted /a/b ${solo.index}`, `children /a ${solo.index}`]);
  });

  it('tells what an end of a session does: its nodes and waits go, and locks are granted', () => {
    const solo = new Solo();
    const [one, other] = [solo.open(), solo.open()];
    one.made('/e', { ephemeral: true });
    one.acquire('l');
    other.acquire('l');
    const ear = new Ear(solo.machine);
    solo.expire(one.id);
    const lock = '/holdfast/locks/l';
    expect(ear.taken()).toEqual(
      [
        'deleted /e',
        'children /',
        `deleted ${lock}/q-0000000000`,
        `children ${lock}`,
        `granted ${lock}/q-0000000001`,
      ].map((text) => `${text} ${solo.index}`),
    );
  });

  it('tells nothing of what changes no node', () => {
    const solo = new Solo();
    const session = solo.open();
    const ear = new Ear(solo.machine);
    session.create('/a/b');
    session.delete('/holdfast');
    session.set('/', '', 7);
    solo.noop();
    solo.open();
    expect(ear.taken()).toEqual([]);
  });

  it('has any number of listeners, of which each ends by itself', () => {
    const solo = new Solo();
    const session = solo.open();
    const heard: string[] = [];
    const hear: NodeListener = (kind) => heard.push(kind);
    const ends = [solo.machine.listen(hear), solo.machine.listen(hear)];
    session.made('/a');
    expect(heard).toEqual(['created', 'created', 'children', 'children']);
    ends[0]?.();
    ends[0]?.();
    session.set('/a', 'x');
    expect(heard.slice(4)).toEqual(['data']);
    ends[1]?.();
    session.set('/a', 'y');
    expect(heard).toHaveLength(5);
  });

  it('goes on behind a snapshot that is restored, of which it tells nothing', () => {
    const source = new Solo();
    const session = source.open();
    session.made('/a');
    const solo = new Solo();
    const ear = new Ear(solo.machine);
    restore(bytesOf(source.machine), source.index, solo.machine);
    expect(ear.taken()).toEqual([]);
    solo.expire(session.id);
    expect(ear.taken()).toEqual([]);
    const later = solo.open();
    later.made('/a/b');
    expect(ear.taken()).toEqual([`created /a/b ${solo.index}`, `children /a ${solo.index}`]);
    ear.stop();
    later.delete('/a/b');
    expect(ear.taken()).toEqual([]);
  });
});
