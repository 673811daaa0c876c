/** A connection on which a test sends a snapshot by hand. */

import type { Connection, ConnectionHandler } from '@holdfast/runtime';
import {
  decodeSnapshotMessage,
  encodeSnapshotMessage,
  type SnapshotMessage,
} from '../../../src/snapshots/snapshot-codec.ts';

export class Line implements Connection {
  readonly remoteAddress = 'peer:1';
  readonly bufferedBytes = 0;
  readonly peerIdentity = undefined;
  receivedBytes = 0;
  readonly heard: SnapshotMessage[] = [];
  open = true;
  readonly #handler: ConnectionHandler;

  constructor(accept: (line: Line) => ConnectionHandler) {
    this.#handler = accept(this);
  }

  admit(): void {}

  setHandler(): void {}

  send(frame: Uint8Array): void {
    this.heard.push(decodeSnapshotMessage(frame));
  }

  close(): void {
    this.destroy();
  }

  destroy(): void {
    if (!this.open) return;
    this.open = false;
    this.#handler.close('destroyed');
  }

  async say(...messages: readonly SnapshotMessage[]): Promise<void> {
    for (const message of messages) this.sayBytes(encodeSnapshotMessage(message));
    await settled();
  }

  sayBytes(frame: Uint8Array): void {
    this.#handler.frame(frame);
  }
}

/** Everything that is done in microtasks is done. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
