/** What a replica of the store has when it has been stopped, as the history tells it: each key, and one digest of everything. */

import { createHash } from 'node:crypto';
import type { Engine } from '@holdfast/fenced-kv';
import { offlineBuckets, takeBackup, type BackupRecord } from '@holdfast/fenced-kv/replication';
import type { EventOf } from '../history/calls.ts';
import type { Stamp } from '../history/history.ts';

type Unstamped<T> = T extends unknown ? Omit<T, keyof Stamp> : never;
export type KeptEvent = Unstamped<EventOf<'kept' | 'kept-all'>>;

/** The engine is that of a stopped replica, and stays open. Rejects with what reading it rejects with. */
export async function keptBy(engine: Engine): Promise<KeptEvent[]> {
  const events: KeptEvent[] = [];
  const hash = createHash('sha256');
  let bucket = '';
  let present: { readonly key: string; readonly revision: number; readonly value: Buffer[] } | undefined;
  const tell = (): void => {
    if (present === undefined) return;
    const { key, revision, value } = present;
    events.push({ type: 'kept', bucket, key, value: Buffer.concat(value).toString(), revision });
    present = undefined;
  };
  const { keys } = await takeBackup(await offlineBuckets(engine), (record) => {
    hash.update(`${textOf(record)}\n`);
    if (record.type === 'value') present?.value.push(Buffer.from(record.bytes));
    else tell();
    if (record.type === 'bucket') bucket = record.bucket;
    if (record.type === 'key') {
      present = { key: Buffer.from(record.key).toString(), revision: record.record.revision, value: [] };
    }
    return Promise.resolve();
  });
  tell();
  return [...events, { type: 'kept-all', keys, digest: hash.digest('hex') }];
}

/** The same for equal records, whatever kinds of arrays hold their bytes. */
function textOf(record: BackupRecord): string {
  switch (record.type) {
    case 'key':
      return `key ${Buffer.from(record.key).toString('hex')} ${JSON.stringify(record.record)}`;
    case 'value':
      return `value ${Buffer.from(record.bytes).toString('hex')}`;
    case 'clock':
    case 'bucket':
      return JSON.stringify(record);
  }
}
