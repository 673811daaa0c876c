/**
 * The clients, servers and leader of a run: makes an entry of each move, from what it has been told and what is there to see, and learns
 * from what came of it. Sends what well-behaved clients send, and what lost, late and broken ones do.
 */

import { encodeCommand, pack } from '@holdfast/protocol';
import { LATEST_STATE_VERSION, type Output } from '@holdfast/state';

import { allAcquires, type View } from '../observation/view.ts';
import { Client } from './client.ts';
import { sentBy, someSession } from './commands.ts';
import {
  attachEntry,
  continueEntry,
  endDelayEntry,
  enforceEntry,
  expireEntry,
  NOOP,
  payloadOf,
  raiseEntry,
  unusedEntry,
  requestEntry,
  unsupportedEntry,
  type Entry,
  type RequestHeader,
} from './entry.ts';
import { PICKS, type Move } from './move.ts';
import { choose, LOCKS } from './pools.ts';

const SECRET_HASH_BYTES = 32;
const TIMEOUT_MS = 10_000;
const SERVERS = 3;
const MOST_SKIPPED = 4;
const ODD_NUMBERS = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53] as const;
const ODD_ACKS = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY] as const;

interface EndedSession {
  readonly session: number;
  /** Its hash, since nothing here needs more. */
  readonly secret: Uint8Array;
  readonly generation: number;
  readonly nextNumber: number;
}

export class Clients {
  #secrets = 0;
  #correlations = 0;
  readonly #clients = Array.from({ length: PICKS.who }, () => new Client(this.#newSecret()));
  readonly #ended: EndedSession[] = [];

  entryOf(move: Move, view: View): Entry {
    const client = this.#clientFor(move, view);
    if (client === undefined) return NOOP;
    const { kind } = move;
    if (kind === 'noop') return NOOP;
    if (kind === 'expire' || kind === 'expireOtherwise') return expire(move, view);
    if (kind === 'raise') return raise(move);
    if (kind === 'continueEnd') return continueEnd(move, view);
    if (kind === 'removeUnused') return removeUnused(move, view);
    if (kind === 'endDelay') return endDelay(move, view);
    if (kind === 'enforceRelease') return enforceRelease(move, view);
    if (kind === 'attachOtherwise') return this.#attachOtherwise(move, client);
    if (kind === 'unsupported') return unsupportedEntry(this.#request(move, client, view), move.flavour);
    if (kind === 'open' || !client.live) return this.#open(move, client);
    return kind === 'attach' ? this.#attach(client.secret, client.session) : this.#request(move, client, view);
  }

  /** What the clients are told of an entry. */
  learn(entry: Entry, outputs: readonly Output[]): void {
    for (const output of outputs) {
      if (output.type === 'attached') this.#attached(entry, output);
      else if (output.type === 'reply') this.#replied(entry, output);
      else if (output.type === 'sessionEnded') this.#sessionEnded(output.session);
    }
  }

  /** Who gives up a wait or hold is by preference one that has some. */
  #clientFor(move: Move, view: View): Client | undefined {
    const client = choose(this.#clients, move.who);
    if (move.kind !== 'release' && move.kind !== 'cancel' && move.kind !== 'downgrade') return client;
    const owners = new Set(allAcquires(view).map(({ session }) => session));
    if (client !== undefined && owners.has(client.session)) return client;
    return this.#clients.find(({ session, live }) => live && owners.has(session)) ?? client;
  }

  #open(move: Move, client: Client): Entry {
    // A lost answer: the same secret again, be its session alive or not.
    if (!client.live && move.flavour < 7) client.secret = this.#newSecret();
    return this.#attach(client.secret, 0);
  }

  #attachOtherwise({ flavour, pick }: Move, client: Client): Entry {
    const ended = choose(this.#ended, pick);
    const other = choose(this.#clients, pick) ?? client;
    if (flavour < 3 && ended !== undefined) return this.#attach(ended.secret, ended.session);
    if (flavour < 5) return this.#attach(client.secret, other.session);
    if (flavour < 7) return this.#attach(this.#newSecret(), client.session);
    if (flavour < 9) return this.#attach(this.#newSecret(), 0);
    return this.#attach(client.secret.subarray(0, SECRET_HASH_BYTES - 1), 0);
  }

  #attach(secret: Uint8Array, session: number): Entry {
    this.#correlations += 1;
    const timeoutMs = TIMEOUT_MS + this.#correlations;
    const payload = encodeCommand({
      type: 'attach',
      secretHash: secret,
      session,
      timeoutMs,
      label: `client ${this.#correlations}`,
    });
    return attachEntry(1 + (this.#correlations % SERVERS), this.#correlations, payload);
  }

  #request(move: Move, client: Client, view: View): Entry {
    const header = this.#header(move, client, view);
    if (move.kind === 'refuse') {
      const refusal = payloadOf({ type: 'refuse', server: 1 + (move.pick % SERVERS) });
      // The client knows only of its own command, and sends that again.
      return { ...requestEntry(header, refusal), sent: sentBy(move, client, view) };
    }
    const again = move.kind === 'repeat' ? client.sent[header.number - 1] : undefined;
    return requestEntry(header, again ?? sentBy(move, client, view));
  }

  #header(move: Move, client: Client, view: View): RequestHeader {
    const header = {
      via: client.server,
      session: client.session,
      generation: client.generation,
      number: client.nextNumber,
      ackedUpTo: acknowledge(move, client),
    };
    const { kind, pick, flavour } = move;
    // The leader may also refuse what has been applied since.
    if (kind === 'repeat' || (kind === 'refuse' && flavour > 6))
      return { ...header, number: repeatedNumber(move, client) };
    if (kind === 'gap') return { ...header, number: header.number + 1 + (pick % MOST_SKIPPED) };
    // Also one that another command had.
    if (kind === 'oddNumber')
      return { ...header, number: flavour > 6 ? client.sent.length : choose(ODD_NUMBERS, pick) };
    if (kind === 'oldGeneration')
      return { ...header, generation: Math.max(0, header.generation + (flavour === 9 ? 1 : -1)) };
    if (kind === 'otherServer') return { ...header, via: (header.via + 1 + (pick % (SERVERS - 1))) % (SERVERS + 1) };
    if (kind !== 'endedSession') return header;
    const ended = choose(this.#ended, pick);
    if (ended === undefined) return { ...header, session: view.index + 1 };
    const { session, generation, nextNumber } = ended;
    // The next number, or the last: its answer must be forgotten as well.
    return { ...header, session, generation, number: nextNumber - (flavour % 2) };
  }

  #attached({ input }: Entry, { reply }: Extract<Output, { type: 'attached' }>): void {
    if (reply.type !== 'attached' || input.type !== 'attach' || input.command === undefined) return;
    const secret = String.fromCharCode(...input.command.secretHash);
    const client = this.#clients.find((candidate) => String.fromCharCode(...candidate.secret) === secret);
    if (client === undefined) return;
    if (client.session !== reply.session) client.begin(reply.session);
    client.generation = reply.generation;
    client.server = input.server;
  }

  #replied({ input, sent }: Entry, { session, number, reply }: Extract<Output, { type: 'reply' }>): void {
    const client = this.#clients.find((candidate) => candidate.session === session);
    if (client === undefined || number !== client.nextNumber || sent === undefined || input.type !== 'request') return;
    client.sent.push(sent);
    if (reply.type !== 'acquire') return;
    const { acquireIndex } = reply;
    if (input.command?.type === 'acquire') client.acquires.push({ lock: input.command.lock, acquireIndex });
    if (input.command?.type !== 'acquireSeveral' && input.command?.type !== 'acquireWith') return;
    for (const { lock } of input.command.locks) client.acquires.push({ lock, acquireIndex });
  }

  #sessionEnded(session: number): void {
    const client = this.#clients.find((candidate) => candidate.session === session);
    if (client === undefined) return;
    client.ended = true;
    const { secret, generation, nextNumber } = client;
    this.#ended.push({ session, secret, generation, nextNumber });
  }

  #newSecret(): Uint8Array {
    this.#secrets += 1;
    const secret = new Uint8Array(SECRET_HASH_BYTES);
    new DataView(secret.buffer).setUint32(0, this.#secrets);
    return secret;
  }
}

/** What the leader proposes; otherwise: late, for a session that was attached again since, or that has ended. */
function expire(move: Move, view: View): Entry {
  const session = view.sessions.get(victim(move, view));
  const { id = move.pick, generation = 1 } = session ?? {};
  if (move.kind === 'expire') return expireEntry(encodeCommand({ type: 'expireSession', session: id, generation }));
  if (move.flavour === 9) return expireEntry(new Uint8Array([0xc1]));
  const wrong = move.flavour < 6 ? generation - 1 : generation + 1;
  return expireEntry(encodeCommand({ type: 'expireSession', session: id, generation: wrong }));
}

/** What the leader proposes of a session that is ending; now and then for one that lives. */
function continueEnd(move: Move, view: View): Entry {
  if (move.flavour === 9) return continueEntry(new Uint8Array([0xc1]));
  const ending = [...view.sessions.values()].find((session) => session.ending);
  const session = move.flavour < 8 && ending !== undefined ? ending.id : someSession(move, view);
  return continueEntry(encodeCommand({ type: 'continueEnd', session }));
}

/** What the leader found unused; otherwise: before it changed, another node in its place, one that does not go by itself, twice the same. */
function removeUnused({ what, pick, flavour }: Move, view: View): Entry {
  if (flavour === 9) return unusedEntry(new Uint8Array([0xc1]));
  const limited = [...view.nodes].filter(([, { traits }]) => traits.container || traits.ttlMs > 0);
  const some = flavour === 8 ? [...view.nodes] : limited;
  const nodes = some.slice(pick % 3, (pick % 3) + 1 + (what % 3)).map(([path, { stat, traits }]) => ({
    path,
    czxid: stat.czxid - (flavour === 7 ? 1 : 0),
    mzxid: traits.ttlMs > 0 || flavour === 8 ? stat.mzxid - (flavour === 6 ? 1 : 0) : 0,
  }));
  return unusedEntry(encodeCommand({ type: 'removeUnused', nodes: flavour === 5 ? [...nodes, ...nodes] : nodes }));
}

/** What the leader proposes when a delay is over; otherwise: late, or of a lock that is not delayed. */
function endDelay({ what, pick, flavour }: Move, view: View): Entry {
  if (flavour === 9) return endDelayEntry(new Uint8Array([0xc1]));
  const found = choose([...view.delays], pick);
  const index = (found?.[1].index ?? pick + 1) - (flavour === 7 ? 1 : 0);
  const lock = found === undefined || flavour === 8 ? choose(LOCKS, what) : found[0];
  return endDelayEntry(encodeCommand({ type: 'endLockDelay', lock, index }));
}

/** What the leader proposes when the time of a request is over; otherwise: late, or of what nobody has asked for. */
function enforceRelease({ what, pick, flavour }: Move, view: View): Entry {
  if (flavour === 9) return enforceEntry(new Uint8Array([0xc1]));
  const all = allAcquires(view);
  const asked = all.filter(({ releaseRequest }) => releaseRequest !== undefined);
  const found = choose(flavour === 8 ? all : asked, pick);
  const { lock = choose(LOCKS, what), acquireIndex = pick, releaseRequest } = found ?? {};
  const request = (releaseRequest?.index ?? pick + 1) - (flavour === 7 ? 1 : 0);
  return enforceEntry(encodeCommand({ type: 'enforceRelease', lock, acquireIndex, request }));
}

/** One that holds several locks, if there is one: its end touches several queues. */
function victim(move: Move, view: View): number {
  if (move.flavour < 5) return someSession(move, view);
  const holders = allAcquires(view).filter(({ token }) => token !== 0);
  const several = holders.filter(({ session }) => holders.filter((other) => other.session === session).length > 1);
  return (choose(several, move.pick) ?? choose(holders, move.pick))?.session ?? someSession(move, view);
}

/** By preference the ones about which memory can be wrong: the last, the first that is not acknowledged, the last that is. */
function repeatedNumber({ flavour, pick }: Move, client: Client): number {
  const last = Math.max(1, client.sent.length);
  const numbers = [last, client.ackedUpTo + 1, client.ackedUpTo];
  return Math.min(last, numbers[flavour] ?? 1 + ((pick * 7) % last));
}

/** Mostly what was acknowledged before; sometimes more of what was answered; now and then nonsense, or more than there is. */
function acknowledge({ ack, pick }: Move, client: Client): number {
  if (ack === 9) return choose(ODD_ACKS, pick);
  if (ack === 8 && pick < 4) {
    client.ackedUpTo = client.sent.length;
    return client.sent.length + pick;
  }
  if (ack >= 6) client.ackedUpTo = Math.max(client.ackedUpTo, client.sent.length - (pick % 6));
  return client.ackedUpTo;
}

/** Mostly to a version that the machine knows, be it higher or not. */
function raise({ pick, flavour }: Move): Entry {
  if (flavour === 9) return raiseEntry(pack([]));
  const known = flavour < 4 ? LATEST_STATE_VERSION : pick % (LATEST_STATE_VERSION + 1);
  const version = flavour < 8 ? known : LATEST_STATE_VERSION + 1 + pick;
  return raiseEntry(encodeCommand({ type: 'raiseStateVersion', version }));
}
