/** The servers of a transcript, and the messages between them: each arrives, or is lost, when it is told to. */

import {
  InvariantError,
  initialConfiguration,
  messageText,
  serverId,
  type Message,
  type RaftConfig,
  type RaftEvent,
} from '../../../../src/core/index.ts';
import { BrokenPromise } from '../broken-promise.ts';
import { TranscriptServer } from './server.ts';

interface UnderWay {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
}

const MAX_MESSAGES = 1_000;
const MAX_ATTEMPTS = 3;
const ELECTION: ReadonlySet<Message['type']> = new Set(['pre-vote', 'pre-vote-response', 'vote', 'vote-response']);

export class TranscriptEnsemble {
  readonly #servers: readonly TranscriptServer[];
  #underWay: UnderWay[] = [];
  #said: string[] = [];
  /** As they were told last. */
  readonly #texts = new Map<number, string>();
  readonly #members = new Map<number, string>();

  constructor(voters: number, spares: number, config: Partial<RaftConfig>) {
    const ids = Array.from({ length: voters + spares }, (_, position) => position + 1);
    const initial = initialConfiguration(
      ids.slice(0, voters).map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })),
    );
    const around = {
      servers: ids.length,
      initial,
      config,
      say: (line: string) => this.#said.push(line),
      post: (from: number, to: number, message: Message) => this.#underWay.push({ from, to, message }),
    };
    this.#servers = ids.map((id) => new TranscriptServer(id, around));
    for (const server of this.#servers) server.start(ids.filter((id) => id !== server.id));
    this.report(true);
  }

  /** What happened since the last call, and what became of whom it changed. `quietly`: that alone. */
  report(quietly: boolean): string[] {
    const lines = quietly ? [] : this.#said;
    this.#said = [];
    for (const { id, text, members } of this.#servers) {
      const changed = this.#members.get(id) !== members && members !== '';
      if (this.#texts.get(id) !== text || changed) lines.push(`${id} ${text}${changed ? `, members ${members}` : ''}`);
      this.#texts.set(id, text);
      if (changed) this.#members.set(id, members);
    }
    return lines;
  }

  /** @throws RangeError when there is none */
  server(id: number): TranscriptServer {
    const server = this.#servers[id - 1];
    if (server === undefined) throw new RangeError(`there is no server ${id}`);
    return server;
  }

  /** Lets a server do something; one that finds a broken invariant stops. */
  act(id: number, deed: (server: TranscriptServer) => void): void {
    const server = this.server(id);
    try {
      deed(server);
    } catch (error) {
      if (!(error instanceof InvariantError || error instanceof BrokenPromise)) throw error;
      this.#said.push(`${id} STOPS: ${error.message}`);
      this.crash(id);
    }
  }

  /** The oldest message under way arrives. */
  deliverNext(from: number, to: number): void {
    this.#deliver(this.#next(from, to));
  }

  /** The oldest message under way is lost. */
  dropNext(from: number, to: number): void {
    const lost = this.#next(from, to);
    this.#take(lost);
    this.#said.push(`lost from ${from} to ${to}: ${messageText(lost.message)}`);
  }

  dropAll(): void {
    this.#underWay = [];
  }

  /** Between these servers all messages arrive and all writes end, until nothing is under way; whatever others sent or are sent waits. */
  stabilize(ids: readonly number[]): void {
    this.#bringOn(
      ids,
      () => false,
      () => true,
    );
  }

  /**
   * One server stands and wins by the votes of these, who have lost their leader; nothing but what is about elections arrives, and of
   * that nothing at others. It stands again when it has learnt a higher term.
   */
  elect(id: number, voters: readonly number[]): void {
    const leads = (): boolean => this.server(id).leads;
    for (const voter of voters) this.act(voter, (server) => server.loseLeader());
    for (let attempt = 0; attempt < MAX_ATTEMPTS && !leads(); attempt += 1) {
      this.act(id, (server) => server.campaign());
      this.#bringOn([id, ...voters], leads, ({ type }) => ELECTION.has(type));
    }
    if (!leads()) throw new RangeError(`server ${id} is not elected`);
    this.#underWay = this.#underWay.filter(({ message }) => !ELECTION.has(message.type));
  }

  #bringOn(ids: readonly number[], until: () => boolean, passes: (message: Message) => boolean): void {
    for (let count = 0; count < MAX_MESSAGES; count += 1) {
      if (until()) return;
      const writing = ids.find((id) => this.server(id).writing);
      const next = this.#underWay.find(
        ({ from, to, message }) => ids.includes(from) && ids.includes(to) && passes(message),
      );
      if (writing !== undefined) this.act(writing, (server) => server.persist());
      else if (next !== undefined) this.#deliver(next);
      else return;
    }
    throw new RangeError('these servers never come to rest');
  }

  /** What it had sent, and what is on its way to it, is lost. */
  crash(id: number): void {
    const server = this.server(id);
    server.crash();
    this.#underWay = this.#underWay.filter(({ from, to }) => from !== id && to !== id);
    this.#tell(id, { type: 'peer-disconnected', peer: serverId(id) });
  }

  restart(id: number): void {
    const peers = this.#servers.filter((server) => server.up && server.id !== id);
    this.act(id, (server) => server.start(peers.map((peer) => peer.id)));
    this.#tell(id, { type: 'peer-connected', peer: serverId(id) });
  }

  /** Their connection breaks with all that is under way on it, and there is a new one. */
  reconnect(a: number, b: number): void {
    this.#underWay = this.#underWay.filter(({ from, to }) => !((from === a && to === b) || (from === b && to === a)));
    for (const type of ['peer-disconnected', 'peer-connected'] as const) {
      this.act(a, (server) => server.step({ type, peer: serverId(b) }));
      this.act(b, (server) => server.step({ type, peer: serverId(a) }));
    }
  }

  sendSnapshot(from: number, to: number): void {
    const { position, term } = this.server(from).snapshotFor(to);
    this.act(to, (server) => server.receiveSnapshot(from, position, term));
    this.act(from, (server) => server.step({ type: 'snapshot-sent', peer: serverId(to), term, index: position.index }));
  }

  #next(from: number, to: number): UnderWay {
    const next = this.#underWay.find((each) => each.from === from && each.to === to);
    if (next === undefined) throw new RangeError(`nothing is under way from ${from} to ${to}`);
    return next;
  }

  #take(sent: UnderWay): void {
    this.#underWay = this.#underWay.filter((each) => each !== sent);
  }

  #deliver(sent: UnderWay): void {
    this.#take(sent);
    this.act(sent.to, (server) => server.hear(sent.from, sent.message));
  }

  #tell(about: number, event: RaftEvent): void {
    for (const { id, up } of this.#servers) if (up && id !== about) this.act(id, (server) => server.step(event));
  }
}
