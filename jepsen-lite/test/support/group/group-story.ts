/** Tells small histories of a group of replicas by hand. */

import type { EventOf } from '../../../src/history/calls.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import { Story, type Asked } from '../story.ts';

const BUCKET = 'b';
const KEY = 'k';

export class GroupStory extends Story {
  #revisions = 0;
  #version = -1;

  /** Begun, and not answered yet. */
  putting(value: string, process = 'c1', expected?: { readonly revision: number; readonly value: string }): Asked {
    const condition = expected === undefined ? {} : { expected };
    return this.ask({ f: 'kv-put', bucket: BUCKET, key: KEY, value, ...condition }, process);
  }

  /** The whole of a write; its revision is that of the answer. */
  put(value: string, epoch = 1, process = 'c1'): { readonly ok: HistoryEvent; readonly revision: number } {
    const asked = this.putting(value, process);
    this.#revisions += 1;
    const revision = this.#revisions;
    return { ok: asked.ok({ revision, epoch }), revision };
  }

  delete(epoch = 1): HistoryEvent {
    return this.ask({ f: 'kv-delete', bucket: BUCKET, key: KEY }).ok({ epoch });
  }

  get(value: string | null, revision: number | null = null, epoch = 1, process = 'c2'): HistoryEvent {
    return this.ask({ f: 'kv-get', bucket: BUCKET, key: KEY }, process).ok({ value, revision, epoch });
  }

  configured(
    epoch: number,
    primary: string,
    inSync: readonly string[],
    version = this.#version + 1,
  ): EventOf<'configured'> {
    this.#version = version;
    const index = this.nextIndex();
    return this.record({ type: 'configured', index, group: 'g', version, epoch, primary, inSync }, 'ensemble');
  }

  /** All that a replica has in the end: one key, or none. */
  kept(replica: string, value?: string, revision = 1, digest = String(value)): HistoryEvent {
    const key = { type: 'kept', bucket: BUCKET, key: KEY, revision } as const;
    const event = value === undefined ? undefined : this.record({ ...key, value }, replica);
    const whole = this.record({ type: 'kept-all', keys: value === undefined ? 0 : 1, digest }, replica);
    return event ?? whole;
  }
}
