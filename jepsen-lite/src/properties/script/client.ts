/** What one client of a run knows: its secret, its session, the numbers of its requests and what it sent under each. */

import type { CommandName } from '@holdfast/protocol';

/** A command as bytes, which a repeated request sends again. */
export interface Sent {
  /** Undefined for a command that no version has. */
  readonly name: CommandName | undefined;
  readonly type: number;
  readonly payload: Uint8Array;
}

export class Client {
  secret: Uint8Array;
  /** 0 before the first attach. */
  session = 0;
  generation = 0;
  /** At which it is attached. */
  server = 0;
  ackedUpTo = 0;
  /** The applied request n is at n − 1. */
  sent: Sent[] = [];
  /** Of the session, as far as this client knows. */
  ended = false;
  /** Acquires that it was told of, the ones that are gone included. */
  acquires: { readonly lock: string; readonly acquireIndex: number }[] = [];

  constructor(secret: Uint8Array) {
    this.secret = secret;
  }

  get live(): boolean {
    return this.session !== 0 && !this.ended;
  }

  get nextNumber(): number {
    return this.sent.length + 1;
  }

  begin(session: number): void {
    this.session = session;
    this.generation = 0;
    this.ackedUpTo = 0;
    this.sent = [];
    this.ended = false;
    this.acquires = [];
  }
}
