import { CLIENT_FEATURES, type ClientMessage } from '@holdfast/protocol';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import type { Instant } from '../../src/session/lease.ts';
import { TimeLimits } from '../../src/session/time-limits.ts';
import { WatchPipeline } from '../../src/watches/watch-pipeline.ts';

function watching() {
  const { runtime } = new SimWorld({ seed: 1 }).host('client');
  const { clock, random } = runtime;
  const sent: ClientMessage[] = [];
  const host = { limits: new TimeLimits(clock), limitAtMs: () => 1_000_000, describe: () => 'here' };
  const pipeline = new WatchPipeline({ clock, random, host, seenIndex: () => 10 });
  const connect = (): void =>
    pipeline.connected({ features: CLIENT_FEATURES, post: (message) => sent.push(message) as unknown as Instant });
  const asked = (): readonly number[] => sent.flatMap((message) => (message.type === 'watch' ? message.from : []));
  connect();
  return { pipeline, connect, asked };
}

describe('the watches of a client', () => {
  it('ask the next server for what those have not been told that joined others, which had asked for less', () => {
    const { pipeline, connect, asked } = watching();
    pipeline.watch('/a', { from: 5 });
    pipeline.watch('/a', { from: 2 });
    pipeline.events({ type: 'events', id: 1, through: 7, events: [{ type: 'changed', path: '/a' }] });
    connect();
    expect(asked()).toEqual([5, 2]);
  });

  it('ask the next server for nothing that a lost one has told all of them', () => {
    const { pipeline, connect, asked } = watching();
    pipeline.watch('/a', { from: 5 });
    pipeline.events({ type: 'events', id: 1, through: 7, events: [{ type: 'changed', path: '/a' }] });
    connect();
    expect(asked()).toEqual([5, 7]);
  });

  it('miss for those that ask for less what the history lacks of that, and ask again for the others', () => {
    const { pipeline, asked } = watching();
    const later = pipeline.watch('/a', { from: 5, recursive: true, onMissed: 'resync' });
    const earlier = pipeline.watch('/a', { from: 2, recursive: true, onMissed: 'resync' });
    pipeline.missed({ type: 'missed', id: 1, from: 5, through: 9 });
    pipeline.watching({ type: 'watching', id: 1, index: 9, existing: new Uint8Array([1]) });
    expect([later.cursor, earlier.cursor]).toEqual([9, 2]);
    expect(asked()).toEqual([5, 2]);
  });
});
