/**
 * Entries that were submitted and are not in the log, or may not be: whoever waits for one hears of it. Clients send theirs again, or
 * learn the reason; what the server itself submitted, it submits anew.
 */

import { CommandType, type ErrorCode } from '@holdfast/protocol';
import { decodeEntryHeader } from '@holdfast/state';
import type { ClientConnections } from '../clients/client-connections.ts';
import type { Attaches } from '../sessions/attaches.ts';
import type { SessionEnds } from '../sessions/session-ends.ts';
import type { SessionExpiry } from '../sessions/session-expiry.ts';

export interface UnloggedEntriesParts {
  readonly connections: ClientConnections;
  readonly attaches: Attaches;
  readonly expiry: SessionExpiry;
  readonly ends: SessionEnds;
}

export class UnloggedEntries {
  readonly #parts: UnloggedEntriesParts;

  constructor(parts: UnloggedEntriesParts) {
    this.#parts = parts;
  }

  /** Everything that was submitted may be lost. */
  lost(code: ErrorCode): void {
    const { connections, attaches } = this.#parts;
    for (const connection of connections) connection.resend(code);
    attaches.lost();
  }

  refused(entry: Uint8Array, code: ErrorCode): void {
    const { connections, attaches, expiry, ends } = this.#parts;
    const header = decodeEntryHeader(entry);
    if (header.command === CommandType.expireSession) {
      expiry.refused(entry);
    } else if (header.command === CommandType.continueEnd) {
      ends.refused();
    } else if (header.command === CommandType.attach) {
      attaches.refused(header.number, code);
    } else {
      const connection = connections.bySession(header.session);
      // Not covered: the client has been told already.
      if (connection !== undefined && connection.window.covers(header.number)) connection.resend(code);
    }
  }
}
