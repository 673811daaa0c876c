/** One server of the fake ensemble: greets, attaches, answers, unless a test tells it otherwise. */

import {
  CLIENT_FEATURES,
  MAX_FRAME_BYTES,
  PROTOCOL_VERSION,
  decodeClientFrame,
  encodeServerFrame,
  type AdminAnswer,
  type ClientMessage,
  type ServerMessage,
} from '@holdfast/protocol';
import type { Connection, Listener } from '@holdfast/runtime';
import type { FakeEnsemble, FakeHost, FakeSession } from './fake-ensemble.ts';
import { FakeWatches, type FakeChange } from './fake-watches.ts';

interface ClientLink {
  readonly connection: Connection;
  readonly send: (message: ServerMessage) => void;
  session: FakeSession | undefined;
  generation: number;
  readonly watches: FakeWatches;
}

function withThrough(renewed: Extract<ServerMessage, { type: 'renewed' }>, through: number | undefined): ServerMessage {
  return through === undefined ? renewed : { ...renewed, through };
}

/** What a hook decides: `handle` as usual, `ignore` the message, `apply` it and lose the answer. */
export type Verdict = 'handle' | 'ignore' | 'apply';

export class FakeServer<Host extends FakeHost = FakeHost> {
  readonly id: number;
  /** Where it listens; with its real port once it does. */
  address: string;
  readonly host: Host;
  readonly #ensemble: FakeEnsemble<Host>;
  #listener: Listener | undefined;
  readonly #links = new Set<ClientLink>();
  /** Looks at every message first. */
  hook: (message: ClientMessage) => Verdict = () => 'handle';
  /** The leader that this server believes in; undefined: the ensemble's. */
  believedLeader: number | undefined;
  /** Says goodbye to every hello. */
  goodbye: Extract<ServerMessage, { type: 'goodbye' }> | undefined;
  /** It has lost contact: only who needs no leader is welcome. */
  leaderless = false;
  /** Hellos wait so long before anybody looks at them. */
  greetAfterMs = 0;
  /** Answers every wish of an operator so. */
  adminAnswer: AdminAnswer | undefined;
  features: number = CLIENT_FEATURES;
  required = 0;
  version = PROTOCOL_VERSION;
  frames = 0;
  /** It has forgotten what happened to nodes up to that index. */
  historyBegin = 0;

  private constructor(ensemble: FakeEnsemble<Host>, id: number, host: Host) {
    this.id = id;
    this.host = host;
    this.address = host.address.includes(':') ? host.address : `${host.address}:7100`;
    this.#ensemble = ensemble;
  }

  static async start<Host extends FakeHost>(ensemble: FakeEnsemble<Host>, id: number): Promise<FakeServer<Host>> {
    const server = new FakeServer(ensemble, id, ensemble.world.host(`server-${id}`));
    await server.listen();
    return server;
  }

  async listen(): Promise<void> {
    this.#listener = await this.host.runtime.network.listen({
      address: this.address,
      maxFrameBytes: MAX_FRAME_BYTES,
      onConnection: (connection) => this.#accept(connection),
    });
    this.address = this.#listener.address;
  }

  async stop(): Promise<void> {
    await this.#listener?.close();
  }

  get attachedSessions(): number[] {
    return [...this.#links].flatMap((link) => (link.session === undefined ? [] : [link.session.id]));
  }

  get connections(): number {
    return this.#links.size;
  }

  /** Watches of all connections. */
  get watches(): number {
    return [...this.#links].reduce((sum, { watches }) => sum + watches.size, 0);
  }

  /** The changes of one entry. */
  tell(index: number, changes: readonly FakeChange[]): void {
    for (const { watches, send } of this.#links) {
      const told = watches.hear(index, changes);
      if (told !== undefined) send(told);
    }
  }

  broadcast(message: ServerMessage): void {
    for (const link of this.#links) link.send(message);
  }

  /** Closes every connection and goes on listening. */
  disconnectAll(): void {
    for (const link of this.#links) {
      if (link.session?.generation === link.generation) link.session.send = undefined;
      link.connection.destroy();
    }
    this.#links.clear();
  }

  #accept(connection: Connection): void {
    const outbox: ServerMessage[] = [];
    const link: ClientLink = {
      connection,
      session: undefined,
      generation: 0,
      watches: new FakeWatches(),
      send: (message) => {
        if (outbox.length === 0) {
          this.host.runtime.clock.afterPoll(() => connection.send(encodeServerFrame(outbox.splice(0))));
        }
        outbox.push(message);
      },
    };
    this.#links.add(link);
    connection.setHandler({
      frame: (bytes) => {
        this.frames += 1;
        for (const message of decodeClientFrame(bytes)) this.#receive(message, link);
      },
      close: () => {
        this.#links.delete(link);
        if (link.session?.generation === link.generation) link.session.send = undefined;
      },
    });
  }

  #receive(message: ClientMessage, link: ClientLink): void {
    this.#ensemble.received.push({ server: this.id, atMs: this.host.runtime.clock.monotonicMs(), message });
    if (message.type === 'hello' && this.greetAfterMs > 0) {
      this.host.runtime.clock.setTimer(this.greetAfterMs, () => this.#handle(message, link));
      return;
    }
    this.#handle(message, link);
  }

  #handle(message: ClientMessage, link: ClientLink): void {
    const verdict = this.hook(message);
    if (verdict === 'ignore') return;
    const answer = this.#answer(message, link);
    if (verdict === 'handle' && answer !== undefined) link.send(answer);
    if (answer?.type === 'goodbye') this.host.runtime.clock.afterPoll(() => link.connection.close());
  }

  #answer(message: ClientMessage, link: ClientLink): ServerMessage | undefined {
    const ensemble = this.#ensemble;
    switch (message.type) {
      case 'hello':
        if (this.goodbye !== undefined) return this.goodbye;
        if (this.leaderless && message.withoutLeader !== true)
          return { type: 'goodbye', code: 'NO_LEADER', message: 'no contact to a leader' };
        return {
          type: 'welcome',
          version: this.version,
          features: this.features,
          clusterId: 'test',
          server: this.id,
          leader: this.leaderless ? 0 : (this.believedLeader ?? ensemble.leader),
          members: ensemble.members,
          required: this.required,
          term: ensemble.term,
          spreadMs: ensemble.spreadMs,
        };
      case 'attach': {
        const { reply, session } = ensemble.attach(message.payload, (push) => link.send(push));
        link.session = session;
        link.generation = session?.generation ?? 0;
        return { type: 'attached', id: message.id, index: ensemble.index, reply };
      }
      case 'request': {
        const { session } = link;
        if (session === undefined) throw new Error('a request before attach');
        if (!ensemble.sessions.has(session.id)) return { type: 'ended', index: ensemble.index, reason: 'expired' };
        if (session.generation !== link.generation) return { type: 'goodbye', code: 'SESSION_MOVED', message: '' };
        const answer = ensemble.request(session, message);
        if (answer === undefined) return { type: 'resend', from: session.lastApplied + 1, code: 'OUT_OF_ORDER' };
        return { type: 'reply', number: message.number, ...answer };
      }
      case 'read':
        return { type: 'answer', id: message.id, index: ensemble.index, answer: ensemble.query(message.query) };
      case 'heartbeat':
        return withThrough({ type: 'renewed', id: message.id }, link.watches.through(ensemble.index));
      case 'watch':
        for (const told of link.watches.watch(message, { ...ensemble.past, begin: this.historyBegin })) link.send(told);
        return undefined;
      case 'unwatch':
        return link.watches.unwatch(message, ensemble.index);
      case 'ping':
        return { type: 'pong', id: message.id };
      case 'admin':
        if (this.adminAnswer !== undefined) return { type: 'admin-answer', id: message.id, answer: this.adminAnswer };
        if (message.operation.type === 'members') {
          const leader = this.leaderless ? 0 : ensemble.leader;
          return { type: 'admin-answer', id: message.id, answer: { ...ensemble.memberList, leader } };
        }
        if (message.operation.type !== 'transfer') throw new Error(`${message.operation.type} is not played here`);
        if (message.operation.server !== 0) ensemble.leader = message.operation.server;
        return { type: 'admin-answer', id: message.id, answer: { type: 'transferred', server: ensemble.leader } };
    }
  }
}
