/**
 * What a front may ask for the clients whose protocol it speaks. A front opens a client for each connection, and closes it when the
 * connection ends; between these it asks in the name of that client, and what the client is to hear comes through its channel. Sessions,
 * exactly-once requests, reads, leases and locks are the port's affair, and the same for every front; bytes, hellos and how a client is
 * told are the front's.
 */

import type { AdminAnswer, AdminOperation, ClientMessage, FeatureSet, Member } from '@holdfast/protocol';
import type { ServerId } from '@holdfast/raft';
import type { ClientChannel } from './client-channel.ts';
import type { SessionClient } from './session-client.ts';

export type SessionRequest = Omit<Extract<ClientMessage, { type: 'request' }>, 'type'>;
export type SessionRead = Omit<Extract<ClientMessage, { type: 'read' }>, 'type'>;

export type WatchRequest = Omit<Extract<ClientMessage, { type: 'watch' }>, 'type'>;
export type UnwatchRequest = Omit<Extract<ClientMessage, { type: 'unwatch' }>, 'type'>;

/** What every client should know of the ensemble. */
export interface EnsembleView {
  readonly server: ServerId;
  readonly clusterId: string;
  /** What the state version lets every server of it offer to clients. */
  readonly features: FeatureSet;
  /** 0 while unknown. */
  readonly leader: number;
  readonly term: number;
  readonly members: readonly Member[];
  /** Over so long clients should spread their first dials when they lose a server all at once. */
  readonly spreadMs: number;
}

export interface SessionPort {
  readonly ensemble: EnsembleView;
  open(channel: ClientChannel): SessionClient;
  /** Nothing more comes or goes on its channel. Called exactly once. */
  close(client: SessionClient): void;
  /** Called once a client has said who it is. Undefined: it is welcome. Otherwise the time in milliseconds in which it should come again. */
  admit(client: SessionClient): number | undefined;
  /** Makes a session or takes one over; answered `attached`. `payload` is an encoded AttachRequest. */
  attach(client: SessionClient, id: number, payload: Uint8Array): void;
  /** A command of the client's session, by its number: answered `reply`, or asked for again with `resend`. */
  request(client: SessionClient, request: SessionRequest): void;
  /** Answered `answer`, out of order. */
  read(client: SessionClient, read: SessionRead): void;
  /** Renews the client's session; answered `renewed`, or not at all. */
  renew(client: SessionClient, id: number): void;
  /** Answered `watching` or `watch-refused`, and from then on `events` and `missed`. */
  watch(client: SessionClient, request: WatchRequest): void;
  /** Answered `unwatched` or `watch-refused`. */
  unwatch(client: SessionClient, request: UnwatchRequest): void;
  /** `answered` is called once, perhaps at once. */
  admin(operation: AdminOperation, answered: (answer: AdminAnswer) => void): void;
}
