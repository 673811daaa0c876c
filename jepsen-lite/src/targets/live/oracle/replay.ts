/**
 * What the committed entries did: applied once more by the real state machine, watched by the invariants of the simulation. Tells what
 * happened to every wait and hold, and what became of every write of a node.
 */

import { commandName, decodeCommand, MalformedError } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import { decodeEntryHeader, entryPayload, StateMachine, type Output } from '@holdfast/state';
import type { LogEvent } from '../../../history/history.ts';
import { LockInvariants } from '../../sim/invariants/locks.ts';
import { isCommand, type RestoredSnapshot } from './read-logs.ts';

/** A write of a node that was applied, whether it took effect or was refused. */
export interface AppliedWrite {
  readonly index: number;
  readonly f: 'create' | 'set' | 'delete';
  readonly path: string;
  readonly session: number;
  /** Of the session's requests. */
  readonly number: number;
  /** Undefined for a delete. */
  readonly value: string | undefined;
  /** Why it was refused. */
  readonly refused: string | undefined;
}

export interface Replayed {
  readonly events: readonly LogEvent[];
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
  const events: LogEvent[] = [];
  const writes: AppliedWrite[] = [];
  const seen = new Set<string>();
  const problems: string[] = [];
  const invariants = new LockInvariants(
    (name, message) => problems.push(`${name}: ${message}`),
    (event) => events.push(event),
  );
  for (const entry of entries) {
    let outputs: readonly Output[] = [];
    if (isCommand(entry)) outputs = machine.apply(entry.index, entry.data);
    else machine.applyNoop(entry.index);
    invariants.applied(NOBODY, entry, outputs, machine);
    const write = isCommand(entry) ? writeOf(entry, outputs) : undefined;
    // The same request may have been sent again: what it did it did the first time.
    if (write === undefined || seen.has(`${write.session} ${write.number}`)) continue;
    seen.add(`${write.session} ${write.number}`);
    writes.push(write);
  }
  for (const { host, index, state } of snapshots) {
    if (index <= entries.length) invariants.restored(Number(host.slice(1)), index, state);
  }
  const { sessions, holds, waits } = machine.counts;
  return { events, writes, problems, left: { sessions, holds, waits } };
}

/** Undefined for what is no write of a node, or was not applied. */
function writeOf({ index, data }: Entry, outputs: readonly Output[]): AppliedWrite | undefined {
  const { session, number, command: code } = decodeEntryHeader(data);
  const name = commandName(code);
  if (name !== 'create' && name !== 'set' && name !== 'delete') return undefined;
  const answer = outputs.find((output) => output.type === 'reply' && output.number === number);
  if (answer?.type !== 'reply') return undefined;
  const refused = answer.reply.type === 'error' ? answer.reply.code : undefined;
  try {
    const command = decodeCommand(name, entryPayload(data));
    if (command.type !== 'create' && command.type !== 'set' && command.type !== 'delete') return undefined;
    const value = command.type === 'delete' ? undefined : new TextDecoder().decode(command.data);
    return { index, f: name, path: command.path, session, number, value, refused };
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
