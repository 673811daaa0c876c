/**
 * Hostile conversations for the client port. None of them ends other clients' sessions or deletes what is theirs, which any client
 * may do on purpose; everything else is fair.
 */

import {
  CommandType,
  CreateMode,
  decodeAttachRequest,
  decodeClientFrame,
  encodeAttachRequest,
  encodeClientFrame,
  encodeCommand,
  LockKind,
  PROTOCOL_VERSION,
  type ClientMessage,
  type Command,
  type ErrorCode,
  type Query,
} from '@holdfast/protocol';
import type { Random } from '@holdfast/runtime';
import type { Conversation, Ending, Step } from './conversation.ts';
import { MAX_GREETING_BYTES } from '../../../src/limits.ts';
import { HostileBytes, isMalformed } from './hostile-bytes.ts';

/** Above every session of an ensemble that has not been used for years. */
const NOBODYS_SESSION = 2 ** 45;
/** With what stands before it, within every limit of a name: beyond it the connection would close. */
const MAX_TEXT_LENGTH = 200;
const TEXTS = [
  '',
  '/',
  'a',
  'a/b',
  '..',
  '/holdfast/locks',
  '/holdfast/',
  '//',
  '\0',
  '\ufeff',
  '%',
  '\ud800',
  '__proto__',
  '中',
];

const KINDS = [LockKind.mutex, 1, 255];
const MODES = [CreateMode.ephemeral, CreateMode.ephemeralSequential, 4, 255];

export interface ClientTargets {
  readonly clusterId: string;
  /** A lock that a well-behaved client holds now and then. */
  readonly lock: string;
}

export class ClientConversations {
  readonly #targets: ClientTargets;
  readonly #bytes: HostileBytes;

  constructor(targets: ClientTargets, random: Random) {
    this.#targets = targets;
    this.#bytes = new HostileBytes(random);
  }

  next(): Conversation {
    switch (this.#bytes.random.integer(14)) {
      case 0:
        return this.#malformedFirst();
      case 1:
        return this.#wrongHello();
      case 2:
        return this.#outOfOrder();
      case 3:
        return this.#refusedRequest();
      case 4:
      case 5:
        return this.#malformedLater();
      case 6:
        return this.#strangeSession();
      case 7:
        return this.#numberZero();
      case 8:
        return this.#copies();
      case 10:
        // A frame that would be a hello, but for its length.
        return tooMuchBeforeHello([new Uint8Array(MAX_GREETING_BYTES + 1)]);
      case 9:
        // Each is a thousand messages.
        return this.#bytes.chance(0.05) ? this.#readFlood() : this.#strangeButAllowed();
      default:
        return this.#strangeButAllowed();
    }
  }

  #malformedFirst(): Conversation {
    const bytes = this.#malformed();
    if (bytes.length > MAX_GREETING_BYTES) return tooMuchBeforeHello([bytes]);
    return conversation('malformed first frame', [bytes], goodbye('MALFORMED'));
  }

  #malformedLater(): Conversation {
    const frames = [frame([this.#hello()]), frame(this.#harmless(30)), this.#malformed()];
    return conversation('malformed frame after hello', frames, goodbye('MALFORMED'));
  }

  #wrongHello(): Conversation {
    const { random } = this.#bytes;
    if (this.#bytes.chance(0.5)) {
      const version = PROTOCOL_VERSION + 1 + random.integer(2 ** 40);
      return conversation('wrong version', [frame([{ ...this.#hello(), version }])], goodbye('VERSION_MISMATCH'));
    }
    const clusterId = this.#bytes.pick(['other', 'LOCAL', '__proto__', 'x'.repeat(100), '\0']);
    return conversation('wrong cluster', [frame([{ ...this.#hello(), clusterId }])], goodbye('WRONG_CLUSTER'));
  }

  #outOfOrder(): Conversation {
    const hello = this.#hello();
    const [first = this.#read()] = this.#harmless(1);
    switch (this.#bytes.random.integer(5)) {
      case 0:
        return conversation('no hello', [frame([first, hello])], goodbye('MALFORMED'));
      case 1:
        return conversation('two hellos', [frame([hello, first]), frame([hello])], goodbye('MALFORMED'));
      case 2: {
        const request = this.#request(1, { type: 'acquire', lock: this.#targets.lock, kind: 0, wait: true });
        return conversation('request without a session', [frame([hello, request])], goodbye('MALFORMED'));
      }
      case 3: {
        const frames = [frame([{ ...hello, withoutLeader: true }, this.#read(), this.#attach()])];
        return conversation('a session of who needs no leader', frames, goodbye('MALFORMED'));
      }
      default: {
        const frames = [frame([hello, this.#attach(), this.#attach()])];
        return conversation('two sessions on a connection', frames, goodbye('INVALID_ARGUMENT'));
      }
    }
  }

  #refusedRequest(): Conversation {
    const payload = this.#bytes.noise();
    const command = this.#bytes.pick([0, 1, 64, 65, 2 ** 31, Number.MAX_SAFE_INTEGER]);
    const request = { type: 'request', number: this.#bytes.index(), ackedUpTo: 0, command, payload } as const;
    return conversation('unknown command', [frame([this.#hello(), request])], goodbye('UNSUPPORTED'));
  }

  #strangeButAllowed(): Conversation {
    const frames = [frame([this.#hello()])];
    const count = 1 + this.#bytes.random.integer(4);
    for (let n = 0; n < count; n += 1) frames.push(frame(this.#harmless(40)));
    return conversation('strange reads, pings and heartbeats', frames, { type: 'open' });
  }

  /** A session of its own, which it uses badly. */
  #strangeSession(): Conversation {
    const { random } = this.#bytes;
    const requests = Array.from({ length: 1 + random.integer(15) }, (_, n) => {
      const number = this.#bytes.chance(0.7) ? n + 1 : Math.max(1, this.#bytes.index());
      return this.#bytes.chance(0.6) ? this.#request(number, this.#command()) : this.#badPayload(number);
    });
    const greeting = frame([this.#hello(), this.#attach()]);
    const frames = [greeting, 'until attached' as const, frame([...requests, ...this.#harmless(20)])];
    return conversation('session with strange requests', frames, { type: 'open' });
  }

  /** A number that no session has: neither counted nor answered, if it were taken. */
  #numberZero(): Conversation {
    const requests = Array.from({ length: 1 + this.#bytes.random.integer(50) }, () =>
      this.#request(0, this.#command()),
    );
    const frames = [frame([this.#hello(), this.#attach()]), 'until attached' as const, frame(requests)];
    return conversation('requests with the number 0', frames, goodbye('MALFORMED'));
  }

  /** The same few requests again and again, unanswered and answered. */
  #copies(): Conversation {
    const { random } = this.#bytes;
    const distinct = [1, 2, 3].map((number) => this.#request(number, this.#command()));
    const copies = (): Uint8Array =>
      frame(Array.from({ length: 50 + random.integer(200) }, (_, n) => distinct[n % 3] ?? this.#read()));
    const frames = [frame([this.#hello(), this.#attach()]), 'until attached' as const, copies(), copies()];
    return conversation('copies of requests', frames, { type: 'open' });
  }

  /** Frames of listings, more than may be unanswered. */
  #readFlood(): Conversation {
    const consistency = this.#bytes.pick(['linearizable', 'local'] as const);
    const query: Query = { type: 'locks', prefix: 'no lock begins so', after: '', limit: 1_000 };
    const reads = (count: number): Uint8Array =>
      frame(Array.from({ length: count }, (_, id) => ({ type: 'read', id, consistency, minIndex: 0, query }) as const));
    const frames = [frame([this.#hello()]), reads(1_200), reads(1 + this.#bytes.random.integer(1_000))];
    return conversation('frames of listings', frames, { type: 'open' });
  }

  #hello(): Extract<ClientMessage, { type: 'hello' }> {
    const clusterId = this.#bytes.chance(0.5) ? '' : this.#targets.clusterId;
    return { type: 'hello', version: PROTOCOL_VERSION, features: this.#bytes.index(), clusterId, required: 0 };
  }

  /** Messages that need no session and close nothing. */
  #harmless(max: number): ClientMessage[] {
    return Array.from({ length: 1 + this.#bytes.random.integer(max) }, (): ClientMessage => {
      switch (this.#bytes.random.integer(5)) {
        case 0:
          return { type: 'ping', id: this.#bytes.index() };
        case 1:
          return { type: 'heartbeat', id: this.#bytes.index() };
        case 2:
          return { type: 'attach', id: this.#bytes.index(), payload: this.#badAttach() };
        default:
          return this.#read();
      }
    });
  }

  #read(): ClientMessage {
    const consistency = this.#bytes.pick(['linearizable', 'session', 'local'] as const);
    // Those which wait for an index that never comes are answered a second later, connection or not.
    const minIndex = this.#bytes.chance(0.9) ? this.#bytes.random.integer(2) : this.#bytes.index();
    return { type: 'read', id: this.#bytes.index(), consistency, minIndex, query: this.#query() };
  }

  #query(): Query {
    const text = this.#text();
    switch (this.#bytes.random.integer(5)) {
      case 0:
        return { type: this.#bytes.pick(['get', 'exists', 'children'] as const), path: text };
      case 1:
        return { type: 'verify', lock: this.#lock(), acquireIndex: this.#bytes.index() };
      case 2:
        return { type: 'locks', prefix: this.#lock(), after: this.#lock(), limit: this.#bytes.index() };
      case 3:
        return { type: 'lock', lock: this.#lock() };
      default:
        return { type: 'sessions', after: this.#bytes.index(), limit: this.#bytes.index() };
    }
  }

  #attach(): Extract<ClientMessage, { type: 'attach' }> {
    const secret = this.#bytes.random.bytes(16);
    const payload = encodeAttachRequest({
      secret,
      session: 0,
      timeoutMs: 1_000,
      label: this.#text(),
      givesBack: this.#bytes.chance(0.5),
    });
    return { type: 'attach', id: this.#bytes.index(), payload };
  }

  /** What attach refuses without a word to the log. */
  #badAttach(): Uint8Array {
    for (;;) {
      const payload = this.#bytes.chance(0.5) ? this.#bytes.noise() : this.#attach().payload.slice(0, 10);
      if (isMalformed(() => decodeAttachRequest(payload))) return payload;
    }
  }

  #command(): Exclude<Command, { type: 'attach' | 'expireSession' }> {
    const { random } = this.#bytes;
    const path = `/hostile${this.#text()}`;
    const data = this.#bytes.noise();
    switch (random.integer(6)) {
      case 0:
        return {
          type: 'acquire',
          lock: `hostile ${this.#text()}`,
          kind: this.#bytes.pick(KINDS),
          wait: this.#bytes.chance(0.5),
        };
      case 1:
        return { type: 'release', lock: this.#targets.lock, acquireIndex: random.integer(10_000) };
      case 2:
        return { type: 'cancel', lock: this.#targets.lock, acquireIndex: random.integer(10_000) };
      case 3:
        return { type: 'create', path, data, mode: this.#bytes.pick(MODES) };
      case 4:
        return {
          type: 'set',
          path: this.#bytes.pick([path, '/', '/holdfast/locks']),
          data,
          version: random.integer(5) - 1,
        };
      default:
        return { type: 'closeSession', session: NOBODYS_SESSION + random.integer(2 ** 40) };
    }
  }

  #request(number: number, command: Exclude<Command, { type: 'attach' | 'expireSession' }>): ClientMessage {
    const payload = encodeCommand(command);
    return { type: 'request', number, ackedUpTo: this.#bytes.index(), command: CommandType[command.type], payload };
  }

  /** Of a command that takes arguments, so that no noise is a valid closeSession of somebody else. */
  #badPayload(number: number): ClientMessage {
    const command = this.#bytes.pick([CommandType.create, CommandType.acquire, CommandType.release]);
    const payload = this.#bytes.chance(0.5) ? this.#bytes.noise() : this.#bytes.value();
    return { type: 'request', number, ackedUpTo: this.#bytes.index(), command, payload };
  }

  /** A frame that the decoder refuses. */
  #malformed(): Uint8Array {
    for (;;) {
      const bytes = this.#candidate();
      if (isMalformed(() => decodeClientFrame(bytes))) return bytes;
    }
  }

  #candidate(): Uint8Array {
    switch (this.#bytes.random.integer(4)) {
      case 0:
        return this.#bytes.noise();
      case 1:
        return this.#bytes.tuple(this.#bytes.random.integer(8));
      case 2:
        return this.#bytes.value();
      default:
        return this.#bytes.spoilt(frame([this.#hello(), ...this.#harmless(4), this.#attach()]));
    }
  }

  #lock(): string {
    return this.#bytes.chance(0.1) ? this.#targets.lock : `hostile ${this.#text()}`;
  }

  #text(): string {
    const text = this.#bytes.pick(TEXTS);
    return this.#bytes.chance(0.1) ? text.repeat(20).slice(0, MAX_TEXT_LENGTH) : text;
  }
}

function frame(messages: readonly ClientMessage[]): Uint8Array {
  return new Uint8Array(encodeClientFrame(messages));
}

function tooMuchBeforeHello(steps: readonly Step[]): Conversation {
  return conversation('much before a hello', steps, { type: 'closed', reason: 'before a greeting' });
}

function goodbye(code: ErrorCode): Ending {
  return { type: 'goodbye', code };
}

function conversation(kind: string, steps: readonly Step[], ending: Ending): Conversation {
  const messages = steps.reduce((sum, step) => sum + (typeof step === 'string' ? 0 : messagesOf(step)), 0);
  return { kind, steps, messages, ending };
}

function messagesOf(bytes: Uint8Array): number {
  try {
    return decodeClientFrame(bytes).length;
  } catch {
    return 1;
  }
}
