/** The `Network` of one simulated process: listening and dialling as its kernel and the links between allow. */

import { formatAddress, parseAddress } from '../../network/address.ts';
import { refusalOf } from '../../network/http-rules.ts';
import type { Logger } from '../../logger.ts';
import { DialError, ListenError } from '../../network/network.ts';
import type { Address } from '../../network/address.ts';
import type {
  Connection,
  DialErrorOptions,
  DialFailure,
  DialOptions,
  Listener,
  ListenOptions,
  Network,
} from '../../network/network.ts';
import { PacedAccepts } from '../../network/paced-accepts.ts';
import { securityProblem } from '../../network/transport-security.ts';
import { SimByteStream } from './byte-stream.ts';
import { SimConnection } from './connection.ts';
import { FIRST_EPHEMERAL_PORT, LAST_PORT, freePort, listenerFor, ownName } from './network.ts';
import type { NetworkHost, SimListener, SimNetwork, TransportKind } from './network.ts';
import { Pipe } from './pipe.ts';
import { never } from '../process.ts';
import type { Scheduled, SimProcess } from '../process.ts';
import { toMs, toTicks } from '../scheduler.ts';

/** Of what a connection costs: to tell its client to come again. */
const SENT_AWAY_COST = 0.1;

export function networkOf(process: SimProcess, host: NetworkHost, network: SimNetwork, logger: Logger): Network {
  return {
    listen: (options) => (process.alive ? listen(process, host, { kind: 'messages', options }, logger) : never()),
    dial: (options) => (process.alive ? dial(process, host, network, { kind: 'messages', options }) : never()),
    listenForStreams: (options) => {
      if (!process.alive) return never();
      const onConnection = (connection: Connection): void =>
        options.onStream(new SimByteStream(connection as SimConnection, network.cuts));
      const listening = { ...options, maxFrameBytes: Infinity, onConnection };
      return listen(process, host, { kind: 'bytes', options: listening }, logger);
    },
    dialStream: async (options) => {
      if (!process.alive) return never();
      const dialling = { ...options, maxFrameBytes: Infinity };
      return new SimByteStream(await dial(process, host, network, { kind: 'bytes', options: dialling }), network.cuts);
    },
  };
}

interface Dialling {
  readonly kind: TransportKind;
  readonly options: DialOptions;
}

interface Listening {
  readonly kind: TransportKind;
  readonly options: ListenOptions;
}

async function dial(
  process: SimProcess,
  from: NetworkHost,
  network: SimNetwork,
  dialling: Dialling,
): Promise<SimConnection> {
  const { options } = dialling;
  const problem = securityProblem(options);
  if (problem !== undefined) {
    const message = `cannot connect to ${options.address}: ${problem}`;
    return later(process, 'dial', () => Promise.reject(new DialError('failed', message)));
  }
  const { host: name } = parseAddress(options.address);
  const target = ownName(from, name) === 'no' ? network.host(name) : from;
  if (target !== undefined) return new Dial(process, from, target, network, dialling).outcome;
  const message = `cannot connect to ${options.address}: there is no host "${name}"`;
  return later(process, 'dial', () => Promise.reject(new DialError('failed', message)));
}

/** Settles in a turn of its own, as a real socket would. */
function later<T>(process: SimProcess, kind: string, settle: () => T | Promise<T>): Promise<T> {
  return new Promise<T>((resolve) => {
    process.schedule(0, 'io', kind, () => resolve(settle()));
  });
}

async function listen(
  process: SimProcess,
  host: NetworkHost,
  { kind, options }: Listening,
  logger: Logger,
): Promise<Listener> {
  const { address } = options;
  const problem = securityProblem(options);
  if (problem !== undefined) {
    const message = `cannot listen on ${address}: ${problem}`;
    return later(process, 'listen', () => Promise.reject(new ListenError('FAILED', message)));
  }
  const parts = parseAddress(address);
  const own = ownName(host, parts.host);
  const port = parts.port === 0 ? freePort(host) : parts.port;
  if (own === 'no') {
    const message = `cannot listen on ${address}: "${parts.host}" is not this host (${host.name})`;
    return later(process, 'listen', () => Promise.reject(new ListenError('ADDRESS_NOT_AVAILABLE', message)));
  }
  if (port === undefined || host.listeners.has(port)) {
    const message = `cannot listen on ${address}: the port is in use`;
    return later(process, 'listen', () => Promise.reject(new ListenError('ADDRESS_IN_USE', message)));
  }
  const accepts = new PacedAccepts({
    monotonicMs: () => toMs(process.scheduler.nowTicks),
    afterPoll: (callback) => void process.schedule(0, 'check', 'accepts', callback),
  });
  const listener: SimListener = {
    kind,
    options,
    process,
    loopbackOnly: own === 'loopback',
    connections: new Set(),
    accepts,
    logger,
  };
  const unbind = () => {
    if (host.listeners.get(port) === listener) host.listeners.delete(port);
  };
  host.listeners.set(port, listener);
  const removeDeathHook = process.onDeath(unbind);
  return later(process, 'listen', () => ({
    address: formatAddress(parts.host, port),
    // Frames arrive whole here, and nobody asks a simulated listener what it has refused.
    get load() {
      return { sockets: listener.connections.size, waiting: accepts.waiting, unfinishedBytes: 0, refused: new Map() };
    },
    close: () => {
      if (!process.alive) return never();
      removeDeathHook();
      unbind();
      accepts.stop();
      for (const connection of listener.connections) connection.destroy();
      return later(process, 'listener-closed', () => undefined);
    },
  }));
}

/** One dial: an opening frame there and an answer back, each through a pipe that the connection then keeps. */
class Dial {
  readonly outcome: Promise<SimConnection>;
  readonly #kind: TransportKind;
  readonly #address: Address;
  readonly #process: SimProcess;
  readonly #from: NetworkHost;
  readonly #target: NetworkHost;
  readonly #port: number;
  readonly #network: SimNetwork;
  readonly #near: SimConnection;
  readonly #there: Pipe;
  readonly #back: Pipe;
  readonly #acceptedTimeoutMs: number | undefined;
  #timeout: Scheduled;
  #settled = false;
  #resolve: (connection: SimConnection) => void = () => {};
  #reject: (error: DialError) => void = () => {};

  constructor(
    process: SimProcess,
    from: NetworkHost,
    target: NetworkHost,
    network: SimNetwork,
    { kind, options }: Dialling,
  ) {
    this.#kind = kind;
    this.#address = options.address;
    this.#process = process;
    this.#from = from;
    this.#target = target;
    this.#network = network;
    this.#port = parseAddress(options.address).port;
    const [there, back] = [network.link(from.name, target.name), network.link(target.name, from.name)];
    this.#there = new Pipe(there, back);
    this.#back = new Pipe(back, there);
    this.#back.setReceiver(process);
    this.#near = new SimConnection({
      process,
      remoteAddress: options.address,
      maxFrameBytes: options.maxFrameBytes,
      outgoing: this.#there,
      incoming: this.#back,
    });
    this.outcome = new Promise<SimConnection>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#there.push('open', 0, () => this.#arrive());
    this.#acceptedTimeoutMs = options.acceptedTimeoutMs;
    this.#timeout = this.#timeLimit(options.timeoutMs, 'no answer');
  }

  #timeLimit(ms: number, what: string, accepted = false): Scheduled {
    return this.#process.schedule(toTicks(ms), 'timer', 'dial-timeout', () => {
      this.#fail('timeout', `${what} within ${ms} ms`, { accepted });
    });
  }

  /** In the target's kernel, which answers even when its process is paused or gone. */
  #arrive(): void {
    const { link } = this.#there;
    if (link.dials === 'hanging') return link.struck.count('dial-hung');
    const listener = listenerFor(link, this.#from, this.#target, this.#port);
    if (listener === undefined) {
      this.#back.push('refused', 0, () => this.#fail('refused', 'nothing listens there'));
      return;
    }
    this.#there.setReceiver(listener.process);
    if (this.#acceptedTimeoutMs !== undefined && !this.#settled) {
      // The answer of the kernel travels as well; that much the dialler is told too early.
      this.#timeout.cancel();
      this.#timeout = this.#timeLimit(this.#acceptedTimeoutMs, 'accepted, and no handshake', true);
    }
    const removeDeathHook = listener.process.onDeath(() => this.#reset());
    listener.process.deliver('io', 'accept', () => {
      let waited = false;
      const againInMs = listener.accepts.arrived(() => {
        removeDeathHook();
        listener.process.work(listener.process.costs.acceptMs);
        // Given up meanwhile: the server finds a connection that has ended.
        if (!waited || this.#near.open) this.#accept(listener);
      });
      waited = true;
      if (againInMs === undefined) return;
      removeDeathHook();
      listener.process.work(listener.process.costs.acceptMs * SENT_AWAY_COST);
      this.#back.push('sent-away', 0, () => this.#fail('failed', 'it asks to come again', { againInMs }));
    });
  }

  #accept(listener: SimListener): void {
    if (this.#target.listeners.get(this.#port) !== listener) return this.#reset();
    const { options, process } = listener;
    if (listener.kind !== this.#kind || !this.#hasRoom(listener)) return this.#reset();
    const head = {
      upgrade: true,
      method: 'GET',
      hostHeader: this.#address,
      originHeader: undefined,
      fetchSiteHeader: undefined,
    };
    const refusal = refusalOf(head, options);
    if (refusal !== undefined) {
      const message = `the handshake was answered with ${refusal.response.status}: ${refusal.response.body.trim()}`;
      this.#back.push('refusal', 0, () => this.#fail('failed', message));
      return;
    }
    const far = new SimConnection({
      process,
      remoteAddress: formatAddress(this.#from.name, this.#from.nextDialPort),
      maxFrameBytes: options.maxFrameBytes,
      maxGreetingBytes: options.maxGreetingBytes,
      outgoing: this.#back,
      incoming: this.#there,
    });
    this.#from.nextDialPort =
      this.#from.nextDialPort === LAST_PORT ? FIRST_EPHEMERAL_PORT : this.#from.nextDialPort + 1;
    far.join(this.#near, () => listener.connections.delete(far));
    // A process that was paused accepts what the other side gave up long ago: nobody waits at that end for anything.
    const forget = this.#near.open ? this.#network.opened(this.#near, this.#from, this.#target) : () => {};
    this.#near.join(far, () => {
      forget();
      this.#fail('failed', 'the connection was reset during the handshake');
    });
    listener.connections.add(far);
    this.#back.push('accepted', 0, () => {
      this.#settled = true;
      this.#timeout.cancel();
      this.#resolve(this.#near);
    });
    options.onConnection(far);
  }

  #hasRoom({ connections, options }: SimListener): boolean {
    const { maxSockets = Infinity, maxSocketsPerAddress, maxSocketsPerLoopbackAddress } = options;
    const perAddress = (this.#from === this.#target ? maxSocketsPerLoopbackAddress : maxSocketsPerAddress) ?? Infinity;
    if (connections.size >= maxSockets) return false;
    if (perAddress === Infinity) return true;
    let ofAddress = 0;
    for (const { remoteAddress } of connections)
      if (parseAddress(remoteAddress).host === this.#from.name) ofAddress += 1;
    return ofAddress < perAddress;
  }

  #reset(): void {
    this.#back.push('reset', 0, () => this.#fail('failed', 'the connection was reset during the handshake'));
  }

  /** A dial that is given up after the other side accepted it is a reset to that side. */
  #fail(failure: DialFailure, reason: string, details: DialErrorOptions = {}): void {
    if (this.#settled || !this.#process.alive) return;
    this.#settled = true;
    this.#timeout.cancel();
    this.#near.destroy();
    const message = `cannot connect to ${this.#address}: ${reason}`;
    this.#reject(new DialError(failure, message, details));
  }
}
