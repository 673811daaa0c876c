/**
 * What peers have said and what is known of them anew, gathered until the next turn hands it to the core and to the machine, in the
 * order in which each peer said it. A peer that sends what cannot be read loses its connection, nothing else.
 */

import { MalformedError } from '@holdfast/protocol';
import { RefusalLog, type Clock, type Connection, type Logger } from '@holdfast/runtime';
import type { Message, ServerId } from '../core/index.ts';
import type { ReplicaMachine } from '../machine.ts';
import { decodePeerFrame, type PeerItem } from '../peers/peer-codec.ts';
import type { TurnInbox } from './turn-inbox.ts';

export interface PeerNewsParts {
  readonly inbox: Pick<TurnInbox, 'add' | 'wakeUnlessCanWait'>;
  readonly machine: Pick<ReplicaMachine, 'peerDisconnected' | 'peersChanged' | 'peerMessage'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly logger: Logger;
  /** A removed server is back, a member says. */
  knocked(server: ServerId): void;
  /** A turn is needed. */
  wake(): void;
}

interface InboundFrame {
  readonly from: ServerId;
  readonly connection: Connection;
  readonly items: readonly PeerItem[];
}

export class InboundMessages {
  readonly #parts: PeerNewsParts;
  readonly #refusals: RefusalLog;
  #frames: InboundFrame[] = [];
  #inboundClosed: ServerId[] = [];
  #peersChanged = false;

  constructor(parts: PeerNewsParts) {
    this.#parts = parts;
    this.#refusals = new RefusalLog('closed the connection of a peer', parts);
  }

  get hasWork(): boolean {
    return this.#frames.length > 0 || this.#inboundClosed.length > 0 || this.#peersChanged;
  }

  frame(from: ServerId, connection: Connection, frame: Uint8Array): void {
    try {
      const items = decodePeerFrame(frame);
      this.#frames.push({ from, connection, items });
      const [only] = items;
      if (items.length === 1 && only !== undefined && isRaft(only))
        this.#parts.inbox.wakeUnlessCanWait({ type: 'message', from, message: only });
      else this.#parts.wake();
    } catch (error) {
      this.#malformed(from, connection, error);
    }
  }

  /** What the peer said may be lost. */
  inboundClosed(peer: ServerId): void {
    this.#inboundClosed.push(peer);
    this.#parts.wake();
  }

  /** The members changed, or what is known of them. */
  peersChanged(): void {
    this.#peersChanged = true;
    this.#parts.wake();
  }

  /** Writes what the log still owes. */
  stop(): void {
    this.#refusals.stop();
  }

  /** At the begin of a turn. */
  deliver(): void {
    const { machine, inbox } = this.#parts;
    for (const peer of this.#inboundClosed.splice(0)) machine.peerDisconnected(peer);
    if (this.#peersChanged) {
      this.#peersChanged = false;
      machine.peersChanged();
    }
    const frames = this.#frames;
    this.#frames = [];
    for (const { from, connection, items } of frames) {
      try {
        for (const item of items) {
          if (isRaft(item)) inbox.add({ type: 'message', from, message: item });
          else if (item.type === 'machine') machine.peerMessage(from, item.payload);
          else this.#parts.knocked(item.server);
        }
      } catch (error) {
        this.#malformed(from, connection, error);
      }
    }
  }

  #malformed(from: ServerId, connection: Connection, error: unknown): void {
    if (!(error instanceof MalformedError)) throw error;
    this.#refusals.refused('malformed frame', connection.remoteAddress, error.message, { peer: from });
    connection.destroy();
  }
}

function isRaft(item: PeerItem): item is Message {
  return item.type !== 'machine' && item.type !== 'knock';
}
