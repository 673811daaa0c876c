/** Gathers what this server has to say to the others in a turn, and hands it to the replica as few payloads. */

import type { ReplicaHandle, ServerId } from '@holdfast/raft';
import { MAX_PEER_PAYLOAD_BYTES } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import { encodePeerMessages, peerMessages, type PeerMessage } from './peer-message.ts';

export class PeerOutbox implements ServerPart {
  readonly #handle: () => ReplicaHandle;
  readonly #undelivered: (peer: ServerId) => void;
  readonly #wake: () => void;
  readonly #messages = new Map<ServerId, PeerMessage[]>();

  /** `undelivered`: there is no connection to `peer`, or it is full; something of this turn does not reach it. */
  constructor(handle: () => ReplicaHandle, undelivered: (peer: ServerId) => void, wake: () => void) {
    this.#handle = handle;
    this.#undelivered = undelivered;
    this.#wake = wake;
  }

  send(peer: ServerId, message: PeerMessage): void {
    const messages = this.#messages.get(peer);
    if (messages === undefined) {
      this.#messages.set(peer, [message]);
      this.#wake();
    } else {
      messages.push(message);
    }
  }

  flush(): void {
    if (this.#messages.size === 0) return;
    const batches = [...this.#messages];
    this.#messages.clear();
    for (const [peer, messages] of batches) {
      if (!this.#sendAll(peer, messages)) this.#undelivered(peer);
    }
  }

  #sendAll(peer: ServerId, messages: readonly PeerMessage[]): boolean {
    let payload: PeerMessage[] = [];
    let bytes = 0;
    for (const message of messages) {
      const more = peerMessages.size(message);
      if (payload.length > 0 && bytes + more > MAX_PEER_PAYLOAD_BYTES) {
        if (!this.#handle().sendToPeer(peer, encodePeerMessages(payload))) return false;
        payload = [];
        bytes = 0;
      }
      payload.push(message);
      bytes += more;
    }
    return this.#handle().sendToPeer(peer, encodePeerMessages(payload));
  }
}
