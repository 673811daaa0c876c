/**
 * The least that a correct client is: one session, requests in number order, everything unanswered sent again after each attach
 * and whenever it is asked for. It goes to the next server when its own is silent or closes.
 */

import {
  CommandType,
  MAX_FRAME_BYTES,
  PROTOCOL_VERSION,
  decodeServerFrame,
  encodeClientFrame,
  encodeAttachRequest,
  encodeCommand,
  type ClientMessage,
  type Command,
  type Reply,
  type ServerMessage,
} from '@holdfast/protocol';
import type { Connection, Runtime } from '@holdfast/runtime';

const SILENCE_MS = 1_500;
const REDIAL_MS = 20;

export interface SimClientOptions {
  readonly addresses: readonly string[];
  readonly clusterId: string;
  readonly sessionTimeoutMs: number;
}

type ClientCommand = Exclude<Command, { type: 'attach' | 'expireSession' | 'refuse' }>;

interface Unanswered {
  readonly message: Extract<ClientMessage, { type: 'request' }>;
  readonly answered: (reply: Reply) => void;
}

export class SimClient {
  session = 0;
  ended = false;
  /** The address of its server while it is attached. */
  attachedTo: string | undefined;
  readonly goodbyes: string[] = [];
  readonly renewedAtMs: number[] = [];
  /** Tokens of its holds by acquire index, as far as it has been told. */
  readonly tokens = new Map<number, number>();
  readonly #options: SimClientOptions;
  readonly #runtime: Runtime;
  readonly #secret: Uint8Array;
  readonly #unanswered = new Map<number, Unanswered>();
  #number = 0;
  #connection: Connection | undefined;
  #turn = 0;
  #heardAtMs = 0;
  #stopped = false;

  constructor(options: SimClientOptions, runtime: Runtime) {
    this.#options = options;
    this.#runtime = runtime;
    this.#secret = runtime.random.bytes(16);
    this.#dial();
    this.#watch();
  }

  /** Settles with the answer, however often that must be asked for. */
  request(command: ClientCommand): Promise<Reply> {
    this.#number += 1;
    const number = this.#number;
    return new Promise((answered) => {
      const payload = encodeCommand(command);
      const message = { type: 'request', number, ackedUpTo: 0, command: CommandType[command.type], payload } as const;
      this.#unanswered.set(number, { message, answered });
      if (this.attachedTo !== undefined) this.#send([message]);
    });
  }

  /** Acquires and waits for the grant; gives the hold. */
  async acquire(lock: string): Promise<{ lock: string; acquireIndex: number; token: number }> {
    const reply = await this.request({ type: 'acquire', lock, kind: 0, wait: true });
    if (reply.type !== 'acquire') throw new Error(`not acquired: ${JSON.stringify(reply)}`);
    const { acquireIndex } = reply;
    if (reply.token !== 0) this.tokens.set(acquireIndex, reply.token);
    while (!this.tokens.has(acquireIndex)) {
      if (this.ended) throw new Error('the session has ended');
      await new Promise<void>((resolve) => this.#runtime.clock.setTimer(5, resolve));
    }
    return { lock, acquireIndex, token: this.tokens.get(acquireIndex) ?? 0 };
  }

  release(hold: { readonly lock: string; readonly acquireIndex: number }): Promise<Reply> {
    return this.request({ type: 'release', lock: hold.lock, acquireIndex: hold.acquireIndex });
  }

  /** Disappears without a word. */
  vanish(): void {
    this.#stopped = true;
    this.#connection?.destroy();
  }

  #dial(): void {
    const { addresses } = this.#options;
    const address = addresses[this.#turn % addresses.length] ?? '';
    this.#turn += 1;
    const redial = (): void => {
      this.attachedTo = undefined;
      this.#connection = undefined;
      if (!this.#stopped) this.#runtime.clock.setTimer(REDIAL_MS, () => this.#dial());
    };
    this.#runtime.network.dial({ address, timeoutMs: 500, maxFrameBytes: MAX_FRAME_BYTES }).then((connection) => {
      this.#connection = connection;
      this.#heardAtMs = this.#runtime.clock.monotonicMs();
      connection.setHandler({
        frame: (bytes) => {
          this.#heardAtMs = this.#runtime.clock.monotonicMs();
          for (const message of decodeServerFrame(bytes)) this.#hear(message, address);
        },
        close: redial,
      });
      this.#greet();
    }, redial);
  }

  #greet(): void {
    const { clusterId, sessionTimeoutMs: timeoutMs } = this.#options;
    const attach = { secret: this.#secret, session: this.session, timeoutMs, label: 'sim' };
    this.#send([
      { type: 'hello', version: PROTOCOL_VERSION, features: 0, clusterId, required: 0 },
      { type: 'attach', id: 1, payload: encodeAttachRequest(attach) },
    ]);
  }

  #hear(message: ServerMessage, address: string): void {
    switch (message.type) {
      case 'attached':
        this.#attached(message.reply, address);
        return;
      case 'reply': {
        const unanswered = this.#unanswered.get(message.number);
        this.#unanswered.delete(message.number);
        unanswered?.answered(message.reply);
        return;
      }
      case 'granted':
        this.tokens.set(message.acquireIndex, message.token);
        return;
      case 'resend': {
        const { from } = message;
        this.#runtime.clock.setTimer(REDIAL_MS, () => this.#sendUnanswered(from));
        return;
      }
      case 'renewed':
        this.renewedAtMs.push(this.#runtime.clock.monotonicMs());
        return;
      case 'ended':
        this.ended = true;
        return;
      case 'goodbye':
        this.goodbyes.push(message.code);
        return;
      case 'welcome':
      case 'answer':
      case 'leave':
      case 'admin-answer':
      case 'pong':
      case 'lost':
      case 'floor':
      case 'contended':
      case 'release-requested':
      case 'watching':
      case 'unwatched':
      case 'watch-refused':
      case 'events':
      case 'missed':
      case 'leader':
        return;
    }
  }

  #attached(reply: Reply, address: string): void {
    if (reply.type !== 'attached') {
      if (reply.type === 'error' && reply.code === 'SESSION_EXPIRED') this.ended = true;
      return;
    }
    this.session = reply.session;
    this.attachedTo = address;
    for (const { acquireIndex, token } of reply.acquires) if (token !== 0) this.tokens.set(acquireIndex, token);
    this.#sendUnanswered(1);
  }

  #sendUnanswered(from: number): void {
    if (this.attachedTo === undefined) return;
    const messages = [...this.#unanswered.values()].map(({ message }) => message);
    this.#send(messages.filter(({ number }) => number >= from));
  }

  #send(messages: readonly ClientMessage[]): void {
    if (messages.length > 0) this.#connection?.send(encodeClientFrame(messages));
  }

  /** Heartbeats, and a silent server is left. */
  #watch(): void {
    this.#runtime.clock.setTimer(this.#options.sessionTimeoutMs / 6, () => {
      if (this.#stopped) return;
      if (this.attachedTo !== undefined) this.#send([{ type: 'heartbeat', id: 1 }]);
      this.#send([{ type: 'ping', id: 1 }]);
      const silentMs = this.#runtime.clock.monotonicMs() - this.#heardAtMs;
      if (silentMs > Math.max(SILENCE_MS, this.#options.sessionTimeoutMs / 3)) this.#connection?.destroy();
      this.#watch();
    });
  }
}
