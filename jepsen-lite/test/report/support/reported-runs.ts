/** Histories that are large enough to be looked at: a run of many clients, with faults and fail-overs, and one of very many calls. */

import type { History, HistoryEventBody } from '../../../src/history/history.ts';
import { HistoryRecorder } from '../../../src/history/recorder.ts';

const CLIENTS = 24;
const LOCKS = 6;
const ROUNDS = 900;
/** A generator of its own, so that the page is the same on every day. */
const SEED = 20_260_728;

class Teller {
  readonly #recorder = new HistoryRecorder();
  readonly #waiting: { readonly atMs: number; readonly process: string; readonly body: () => HistoryEventBody }[] = [];
  #state = SEED;
  #index = 10;

  /** From 0 to 1. */
  random(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }

  nextCall(): number {
    return this.#recorder.nextCall();
  }

  nextIndex(): number {
    this.#index += 1;
    return this.#index;
  }

  /** A function is called when everything before has been told. */
  at(atMs: number, process: string, body: HistoryEventBody | (() => HistoryEventBody)): void {
    this.#waiting.push({ atMs, process, body: typeof body === 'function' ? body : () => body });
  }

  get history(): History {
    const ordered = this.#waiting.toSorted((left, right) => left.atMs - right.atMs);
    for (const { process, atMs, body } of ordered) this.#recorder.record(process, atMs, { ...body() });
    return this.#recorder.events;
  }
}

/**
 * Every lock goes from client to client. In one that fails, a late client finds that it still holds what another has been told of, and
 * a read shows what had been overwritten before it began.
 */
export function reported({ failing }: { readonly failing: boolean }): History {
  const teller = new Teller();
  let nowMs = 0;
  teller.at(0, 'harness', { type: 'phase', phase: 'faults' });
  for (let client = 1; client <= CLIENTS; client += 1) {
    teller.at(1 + client, `c${client}`, { type: 'session', event: 'connected', session: client, timeoutMs: 4_000 });
  }
  const freeAtMs = Array.from({ length: LOCKS }, () => 50);
  for (let round = 0; round < ROUNDS; round += 1) {
    const lock = `lock-${Math.floor(teller.random() * LOCKS)}`;
    const place = Number(lock.split('-')[1]);
    const client = 1 + Math.floor(teller.random() * CLIENTS);
    const process = `c${client}`;
    nowMs += 12 * teller.random();
    const asksAtMs = nowMs + 60;
    const operation = { f: 'acquire', lock, session: client, waitMs: 500 } as const;
    const call = teller.nextCall();
    teller.at(asksAtMs, process, { type: 'invoke', call, ...operation });
    const fate = teller.random();
    if (fate > 0.9) {
      const failed = { call, code: 'TIMEOUT', ...operation } as const;
      teller.at(asksAtMs + 20 + 200 * teller.random(), process, { type: fate > 0.96 ? 'info' : 'fail', ...failed });
      continue;
    }
    const grantedAtMs = Math.max(asksAtMs + 2, freeAtMs[place] ?? 0);
    const toldAtMs = grantedAtMs + 1 + 4 * teller.random();
    const givesBackAtMs = toldAtMs + 5 + 60 * teller.random();
    const release = teller.nextCall();
    let index = 0;
    const hold = () => ({ lock, session: client, hold: index });
    teller.at(grantedAtMs, 'ensemble', () => {
      index = teller.nextIndex();
      return { type: 'enqueued', index, ...hold() };
    });
    teller.at(grantedAtMs, 'ensemble', () => ({ type: 'granted', index, ...hold(), token: index }));
    teller.at(toldAtMs, process, () => ({ type: 'ok', call, ...operation, token: index, hold: index }));
    teller.at(toldAtMs + 1, process, () => ({ type: 'believe', ...hold(), token: index }));
    const giveBack = () => ({ call: release, f: 'release', ...hold(), token: index }) as const;
    teller.at(givesBackAtMs, process, () => ({ type: 'invoke', ...giveBack() }));
    const removed = () => ({ type: 'removed', index: teller.nextIndex(), ...hold(), reason: 'released' }) as const;
    teller.at(givesBackAtMs + 2, 'ensemble', removed);
    teller.at(givesBackAtMs + 4, process, () => ({ type: 'ok', ...giveBack() }));
    freeAtMs[place] = givesBackAtMs + 3;
  }
  const endMs = Math.max(...freeAtMs) + 200;
  strips(teller, endMs);
  if (failing) {
    twoHolders(teller, endMs * 0.8);
    staleRead(teller, endMs * 0.4);
  }
  teller.at(endMs, 'harness', { type: 'phase', phase: 'quiet' });
  return teller.history;
}

function strips(teller: Teller, endMs: number): void {
  for (let term = 1, atMs = 10; atMs < endMs; term += 1) {
    const lastMs = atMs + 400 + 1_500 * teller.random();
    const server = `s${1 + (term % 3)}`;
    teller.at(atMs, server, { type: 'leadership', phase: 'begin', term });
    if (lastMs < endMs) teller.at(lastMs, server, { type: 'leadership', phase: 'end', term });
    const struckMs = Math.min(lastMs, endMs) - 50;
    for (const fault of ['kill', 'pause', 'partition']) {
      const from = struckMs - 150 * teller.random();
      teller.at(from, 'harness', { type: 'fault', fault, phase: 'begin', hosts: server });
      teller.at(from + 100 + 200 * teller.random(), 'harness', { type: 'fault', fault, phase: 'end', hosts: server });
    }
    atMs = lastMs + 40;
  }
}

/** The servers are right: the session of the first has expired. Its client was paused, and goes on as if it had not. */
function twoHolders(teller: Teller, fromMs: number): void {
  const lock = 'lock-9';
  const acquire = (session: number, askedMs: number): (() => { lock: string; session: number; hold: number }) => {
    const process = `c${session}`;
    const operation = { f: 'acquire', lock, session } as const;
    const call = teller.nextCall();
    let index = 0;
    const hold = () => ({ lock, session, hold: index });
    teller.at(askedMs - 40, process, { type: 'session', event: 'connected', session, timeoutMs: 100 });
    teller.at(askedMs, process, { type: 'invoke', call, ...operation });
    teller.at(askedMs + 5, 'ensemble', () => {
      index = teller.nextIndex();
      return { type: 'enqueued', index, ...hold() };
    });
    teller.at(askedMs + 5, 'ensemble', () => ({ type: 'granted', index, ...hold(), token: index }));
    teller.at(askedMs + 30, process, () => ({ type: 'ok', call, ...operation, token: index, hold: index }));
    return hold;
  };
  const [first, second] = [CLIENTS + 1, CLIENTS + 2];
  const held = acquire(first, fromMs);
  let end = 0;
  teller.at(fromMs + 150, 'ensemble', () => {
    end = teller.nextIndex();
    return { type: 'removed', index: end, ...held(), reason: 'expired' };
  });
  teller.at(fromMs + 150, 'ensemble', () => ({ type: 'ended-session', index: end, session: first, reason: 'expired' }));
  acquire(second, fromMs + 170);
  teller.at(fromMs + 230, `c${first}`, () => ({ type: 'believe', ...held(), token: held().hold }));
  teller.at(fromMs + 260, `c${first}`, () => ({ type: 'lost', ...held(), token: held().hold, reason: 'expired' }));
}

function staleRead(teller: Teller, fromMs: number): void {
  const session = CLIENTS;
  const process = `c${session}`;
  const path = '/configuration';
  let atMs = fromMs;
  const done = (operation: Extract<HistoryEventBody, { type: 'invoke' }>, answer: object): void => {
    teller.at(atMs, process, operation);
    teller.at(atMs + 8, process, { ...operation, type: 'ok', ...answer } as HistoryEventBody);
    atMs += 12;
  };
  const named = () => ({ type: 'invoke', call: teller.nextCall(), path, session }) as const;
  done({ ...named(), f: 'create', value: 'first' }, {});
  done({ ...named(), f: 'set', value: 'second' }, { newVersion: 1 });
  done({ ...named(), f: 'read', consistency: 'linearizable' }, { value: 'second', version: 1 });
  done({ ...named(), f: 'read', consistency: 'linearizable' }, { value: 'first', version: 0 });
}

export function manyCalls(count: number): History {
  const teller = new Teller();
  for (let client = 1; client <= CLIENTS; client += 1) {
    let atMs = 100 * teller.random();
    for (let n = 0; n < count / CLIENTS; n += 1) {
      const operation = { f: 'get', bucket: 'b', key: `k${n % 7}`, call: teller.nextCall() } as const;
      const lastMs = atMs + 1 + 40 * teller.random() * teller.random();
      const fate = teller.random();
      teller.at(atMs, `c${client}`, { type: 'invoke', ...operation });
      if (fate < 0.9) teller.at(lastMs, `c${client}`, { type: 'ok', ...operation, value: String(n) });
      else teller.at(lastMs, `c${client}`, { type: fate < 0.97 ? 'fail' : 'info', ...operation, code: 'TIMEOUT' });
      atMs = lastMs + 20 * teller.random();
    }
  }
  return teller.history;
}
