/**
 * What the committed entries did: applied once more by the real state machine, watched by the invariants of the simulation. Tells what
 * happened to every wait and hold, what became of every write of a node, and which configurations a group of replicas has had.
 */

import type { Entry } from '@holdfast/raft';
import { StateMachine, type Output } from '@holdfast/state';
import type { EntryEvent } from '../../../history/history.ts';
import { appliedWrite, type AppliedWrite } from '../../applied-write.ts';
import { ConfigurationRecord } from '../../configuration-record.ts';
import { LockInvariants } from '../../sim/invariants/locks.ts';
import { isCommand, type RestoredSnapshot } from './read-logs.ts';

export interface Replayed {
  readonly events: readonly EntryEvent[];
  readonly writes: readonly AppliedWrite[];
  readonly problems: readonly string[];
  /** Sessions, holds and waits that are left at the end. */
  readonly left: { readonly sessions: number; readonly holds: number; readonly waits: number };
}

/** None of the log's servers: it only watches. */
const NOBODY = 0;

/** `snapshots`: of servers, each of which must be what the entries make up to its index. */
export function replay(
  entries: readonly Entry[],
  snapshots: readonly (RestoredSnapshot & { readonly host: string })[] = [],
): Replayed {
  const machine = new StateMachine();
  const events: EntryEvent[] = [];
  const writes: AppliedWrite[] = [];
  const seen = new Set<string>();
  const problems: string[] = [];
  const configurations = new ConfigurationRecord();
  const invariants = new LockInvariants(
    (name, message) => problems.push(`${name}: ${message}`),
    (event) => events.push(event),
  );
  for (const entry of entries) {
    let outputs: readonly Output[] = [];
    if (isCommand(entry)) outputs = machine.apply(entry.index, entry.data);
    else machine.applyNoop(entry.index);
    invariants.applied(NOBODY, entry, outputs, machine);
    const write = isCommand(entry) ? appliedWrite(entry, outputs) : undefined;
    // The same request may have been sent again: what it did it did the first time.
    if (write === undefined || seen.has(`${write.session} ${write.number}`)) continue;
    seen.add(`${write.session} ${write.number}`);
    writes.push(write);
    const configured = configurations.madeBy(write);
    if (configured !== undefined) events.push(configured);
  }
  invariants.checkNodes(entries.length, machine);
  for (const { host, index, state } of snapshots) {
    if (index <= entries.length) invariants.restored(Number(host.slice(1)), index, state);
  }
  const { sessions, holds, waits } = machine.counts;
  return { events, writes, problems, left: { sessions, holds, waits } };
}
