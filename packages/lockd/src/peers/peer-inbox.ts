/**
 * Brings what the other servers say to the part that handles it. What each message means is in peer-message.ts, who handles it in the
 * part itself.
 */

import { invariant, type ServerId } from '@holdfast/raft';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import { PEER_MESSAGE_TYPES, decodePeerMessages, type PeerMessage } from './peer-message.ts';

type Handler = (from: ServerId, message: PeerMessage) => void;

interface Registration {
  readonly handle: Handler;
  readonly membersOnly: boolean;
}

export interface PeerInboxDeps {
  isMember(server: ServerId): boolean;
  /** What `peer` was sent, or sent to us, may be lost. */
  connectionLost(peer: ServerId): void;
}

export class PeerInbox implements ServerPart {
  readonly peerMessages: PeerHandlers = { lost: (from) => this.#deps.connectionLost(from) };
  readonly #deps: PeerInboxDeps;
  readonly #handlers = new Map<PeerMessage['type'], Registration>();

  constructor(deps: PeerInboxDeps) {
    this.#deps = deps;
  }

  /** Called once, before the first message. */
  install(parts: readonly ServerPart[]): void {
    for (const { memberMessages = {}, peerMessages = {} } of parts) {
      this.#register(memberMessages, true);
      this.#register(peerMessages, false);
    }
    for (const type of PEER_MESSAGE_TYPES)
      invariant(this.#handlers.has(type), 'each-peer-message-has-a-handler', () => `none handles ${type}`);
  }

  /** @throws MalformedError */
  received(from: ServerId, payload: Uint8Array): void {
    for (const message of decodePeerMessages(payload)) {
      const registered = this.#handlers.get(message.type);
      if (registered === undefined || (registered.membersOnly && !this.#deps.isMember(from))) continue;
      registered.handle(from, message);
    }
  }

  #register(handlers: PeerHandlers, membersOnly: boolean): void {
    for (const [name, handle] of Object.entries(handlers)) {
      const type = name as PeerMessage['type'];
      invariant(!this.#handlers.has(type), 'each-peer-message-has-one-handler', () => `two handle ${type}`);
      this.#handlers.set(type, { handle: handle as Handler, membersOnly });
    }
  }
}
