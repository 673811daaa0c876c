/** What an entry's command says of locks: which it names, and what becomes of an acquire that it names. */

import { commandName, decodeCommand, MalformedError } from '@holdfast/protocol';
import { decodeEntryHeader, entryPayload } from '@holdfast/state';

export interface LockCommand {
  readonly name: string;
  readonly locks: readonly string[];
  readonly ends: 'released' | 'cancelled' | 'other';
  /** The acquire that it is about: which it releases, cancels, downgrades, revokes or asks for; it may be of other locks, too. */
  readonly hold?: number;
}

export const NO_LOCKS: LockCommand = { name: 'noop', locks: [], ends: 'other' };

export function decodeLockCommand(data: Uint8Array): LockCommand {
  const name = commandName(decodeEntryHeader(data).command);
  if (name === undefined) return { ...NO_LOCKS, name: 'unknown' };
  try {
    const command = decodeCommand(name, entryPayload(data));
    switch (command.type) {
      case 'acquire':
        return { name, locks: [command.lock], ends: 'other' };
      case 'acquireSeveral':
      case 'acquireWith':
        return { name, locks: command.locks.map(({ lock }) => lock), ends: 'other' };
      case 'endLockDelay':
        return { name, locks: [command.lock], ends: 'other' };
      case 'downgrade':
      case 'revoke':
      case 'requestRelease':
      case 'enforceRelease':
        return { name, locks: [command.lock], ends: 'other', hold: command.acquireIndex };
      case 'release':
        return { name, locks: [command.lock], ends: 'released', hold: command.acquireIndex };
      case 'cancel':
        return { name, locks: [command.lock], ends: 'cancelled', hold: command.acquireIndex };
      case 'attach':
      case 'closeSession':
      case 'create':
      case 'set':
      case 'delete':
      case 'transaction':
      case 'createNode':
      case 'setNode':
      case 'removeUnused':
      case 'expireSession':
      case 'refuse':
      case 'raiseStateVersion':
      case 'continueEnd':
        return { name, locks: [], ends: 'other' };
    }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    return { ...NO_LOCKS, name };
  }
}
