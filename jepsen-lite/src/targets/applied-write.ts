/** What an applied entry did to the nodes, as its own answer says. */

import { commandName, decodeCommand, MalformedError, type Command } from '@holdfast/protocol';
import type { Entry } from '@holdfast/raft';
import { decodeEntryHeader, entryPayload, type Output } from '@holdfast/state';

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

/** Commands that write nodes. */
const WRITES = ['create', 'set', 'delete', 'createNode', 'setNode', 'transaction'] as const;

type Write = Extract<Command, { readonly type: (typeof WRITES)[number] }>;

function isWrite(command: { readonly type: string }): command is Write {
  return WRITES.some((name) => name === command.type);
}

/** Undefined for what is no write of a node, or was not applied. `outputs`: what the state machine has answered to it. */
export function appliedWrite({ index, data }: Entry, outputs: readonly Output[]): AppliedWrite | undefined {
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
