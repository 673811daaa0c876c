/** What a channel is to the owner of the link: it is given connections, and loses them. */

import type { ClientMessage, FeatureSet } from '@holdfast/protocol';
import type { Instant } from '../lease.ts';

/** What calls are sent through. */
export interface Sink {
  /** What the server and this client both know. */
  readonly features: FeatureSet;
  /** The instant at which the message counts as sent. */
  post(message: ClientMessage): Instant;
}

export interface Pipeline {
  /** Calls that a server owes an answer to. */
  readonly unanswered: number;
  /** A server has welcomed this client. From now on calls that need no session go there, those without an answer first. */
  connected?(sink: Sink): void;
  /** The session is attached there. From now on its calls go there, those without an answer first, in order. */
  attached?(sink: Sink): void;
  /** Nothing is sent until the next connection. */
  disconnected(): void;
}
