/**
 * What the committed entries did: applied once more by the real state machine, watched by the invariants of the simulation. Tells what
 * happened to every wait and hold, and what became of every write of a node.
 */

import { commandName, decodeCommand, MalformedError, type Command } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import { decodeEntryHeader, entryPayload, StateMachine, type Output } from '@holdfast/state';
import type { LogEvent } from '../../../history/history.ts';
import { LockInvariants } from '../../sim/invariants/locks.ts';
import { isCommand, type RestoredSnapshot } from './read-logs.ts';

/** A write of a node that was applied, whether it took effect or was refused. */
export interface AppliedWrite {
  readonly index: number;
  readonly f: 'create' | 'set' | 'delete' | 'transaction';
  /** Empty for a transaction. */
  readonly path: string;
  readonly session: number;
  /** Of the session's requests. */
  readonly number: number;
  /** Undefined for a delete, and for a transaction. */
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

/** Commands that write nodes. */
const WRITES = ['create', 'set', 'delete', 'createNode', 'setNode', 'transaction'] as const;

type Write = Extract<Command, { readonly type: (typeof WRITES)[number] }>;

function isWrite(command: { readonly type: string }): command is Write {
  return WRITES.some((name) => name === command.type);
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
  invariants.checkNodes(entries.length, machine);
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
  if (name === undefined || !isWrite({ type: name })) return undefined;
  const answer = outputs.find((output) => output.type === 'reply' && output.number === number);
  if (answer?.type !== 'reply') return undefined;
  const { reply } = answer;
  const refused = reply.type === 'error' || reply.type === 'transactionFailed' ? reply.code : undefined;
  try {
    const command = decodeCommand(name, entryPayload(data));
    if (!isWrite(command)) return undefined;
    const write = { index, session, number, refused };
    switch (command.type) {
      case 'create':
      case 'set':
        return { ...write, f: command.type, path: command.path, value: textOf(command.data) };
      case 'createNode':
        return { ...write, f: 'create', path: command.path, value: textOf(command.data[0]) };
      case 'setNode':
        return { ...write, f: 'set', path: command.path, value: textOf(command.data[0]) };
      case 'delete':
        return { ...write, f: 'delete', path: command.path, value: undefined };
      case 'transaction':
        return { ...write, f: 'transaction', path: '', value: undefined };
    }
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}

function textOf(data: Uint8Array | undefined): string {
  return data === undefined ? '' : new TextDecoder().decode(data);
}
