/**
 * When everything is over, all replicas have the same: every key with its value and revision, and every bucket with its token. And it is
 * what clients have read last, when nobody wrote any more.
 */

import { callsOf, type EventOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import type { Verdict } from '../verdict.ts';

type Kept = EventOf<'kept'>;
type Count = 'replicas' | 'keys' | 'lastReads';
interface Replica {
  readonly name: string;
  readonly whole: EventOf<'kept-all'>;
  readonly has: ReadonlyMap<string, Kept>;
}

export function checkReplicas(history: History): Verdict {
  const findings = new Findings<Count>('replicas', ['replicas', 'keys', 'lastReads']);
  const wholes = history.flatMap((event) => (event.type === 'kept-all' ? [event] : []));
  const kept = groupBy(
    history.flatMap((event) => (event.type === 'kept' ? [event] : [])),
    ({ process }) => process,
  );
  const replicas = wholes.map((whole): Replica => {
    const { process } = whole;
    return { name: process, whole, has: new Map((kept.get(process) ?? []).map((event) => [nameOf(event), event])) };
  });
  findings.count('replicas', replicas.length);
  const [first, ...others] = replicas;
  if (first === undefined) return findings.verdict(false);
  findings.count('keys', first.has.size);
  for (const other of others) checkSame(first, other, findings);
  checkLastReads(history, first, findings);
  return findings.verdict(findings.counted('lastReads') > 0 && replicas.length > 1);
}

function nameOf({ bucket, key }: { readonly bucket: string; readonly key: string }): string {
  return `${bucket}/${key}`;
}

function checkSame(one: Replica, other: Replica, findings: Findings<Count>): void {
  for (const name of new Set([...one.has.keys(), ...other.has.keys()])) {
    const left = one.has.get(name);
    const right = other.has.get(name);
    if (left?.value === right?.value && left?.revision === right?.revision) continue;
    findings.broken(
      `key ${name}: ${one.name} has ${shown(left)}, and ${other.name} has ${shown(right)}`,
      left ?? one.whole,
      right ?? other.whole,
    );
  }
  if (other.whole.digest === one.whole.digest) return;
  findings.broken(`${other.name} has not the same buckets as ${one.name}`, one.whole, other.whole);
}

/** Those that were asked for when nothing new was begun. */
function checkLastReads(history: History, { name: replica, whole, has }: Replica, findings: Findings<Count>): void {
  const quiet = history.findLast((event) => event.type === 'phase' && event.phase === 'quiet');
  if (quiet === undefined) return;
  const { lastWritten, open } = writesOf(history);
  for (const { invoke, completion } of callsOf(history, 'kv-get')) {
    if (invoke.seq < Math.max(quiet.seq, lastWritten)) continue;
    if (completion?.type !== 'ok' || completion.f !== 'kv-get') continue;
    findings.count('lastReads');
    const name = nameOf(invoke);
    const there = has.get(name);
    if (completion.value === (there?.value ?? null) && completion.revision === (there?.revision ?? null)) continue;
    // It may have come after the reading.
    if (open.has(writeName(name, there?.value ?? null))) continue;
    const message = `key ${name}: it was read last as ${shown(completion)}, and ${replica} has ${shown(there)}`;
    findings.broken(message, completion, there ?? whole);
  }
}

/** When the last one was answered, and what those may leave whose outcome is unknown. */
function writesOf(history: History): { readonly lastWritten: number; readonly open: ReadonlySet<string> } {
  let lastWritten = 0;
  const open = new Set<string>();
  for (const { invoke, completion } of callsOf(history, 'kv-put', 'kv-delete')) {
    lastWritten = Math.max(lastWritten, completion?.seq ?? 0);
    if (completion !== undefined && completion.type !== 'info') continue;
    open.add(writeName(nameOf(invoke), invoke.f === 'kv-put' ? invoke.value : null));
  }
  return { lastWritten, open };
}

function writeName(key: string, value: string | null): string {
  return JSON.stringify([key, value]);
}

function shown(found: { readonly value: string | null; readonly revision: number | null } | undefined): string {
  if (found === undefined || found.value === null) return 'nothing';
  return `${JSON.stringify(found.value)} of revision ${found.revision}`;
}
