/** Random runs of several sessions over a few locks and nodes, checked step by step against the plain model. */

import fc from 'fast-check';
import { expect } from 'vitest';

import type { Command, Reply } from '@holdfast/protocol';

import { LockModel, type ModelAcquire, type ModelGrant } from './lock-model.ts';
import { acquireCommand, all, asReply, bytes, codeOf, only, Solo, type SoloSession } from './solo.ts';

const LOCKS = ['a', 'b/1', 'ü'] as const;
const PATHS = ['/p', '/q', '/r'] as const;
const MAX_PICK = 1_000;

/** What happens next; `who`, `what` and `pick` choose among what there is then. */
export interface Step {
  readonly kind: StepKind;
  readonly who: number;
  readonly what: number;
  readonly pick: number;
}

/** How often each kind comes. */
const WEIGHTS = {
  open: 1,
  acquire: 4,
  try: 1,
  release: 3,
  cancel: 1,
  attach: 1,
  close: 1,
  closeOther: 1,
  expire: 1,
  expireStale: 1,
  revoke: 1,
  create: 1,
  delete: 1,
  retry: 2,
  gap: 1,
  moved: 1,
  ack: 1,
  noop: 1,
};
type StepKind = keyof typeof WEIGHTS;

const kind = fc.oneof(
  ...(Object.keys(WEIGHTS) as StepKind[]).map((name) => ({ weight: WEIGHTS[name], arbitrary: fc.constant(name) })),
);

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ kind, who: fc.nat(MAX_PICK), what: fc.nat(MAX_PICK), pick: fc.nat(MAX_PICK) }),
  { minLength: 1, maxLength: 80 },
);

interface Sent {
  readonly command: Command;
  readonly reply: Reply;
}

export class Scenario {
  readonly solo = new Solo();
  readonly model = new LockModel();
  #sessions: SoloSession[] = [];
  readonly #ended: SoloSession[] = [];
  /** Commands of each session and the answers that they had, from number 1 on. */
  readonly #sent = new Map<number, Sent[]>();
  #grants: ModelGrant[] = [];

  run(script: readonly Step[]): void {
    this.#open();
    for (const step of script) {
      this.#grants = [];
      this.solo.outputs = [];
      this.#step(step);
      this.#check();
    }
  }

  /** Releases or cancels all that is left, then checks that nothing remains of any lock. */
  releaseAll(): void {
    for (const session of this.#sessions) {
      for (const acquire of this.model.of(session.id)) this.#cancel(session, acquire);
    }
    expect(this.solo.machine.counts).toMatchObject({
      locks: 0,
      holds: 0,
      waits: 0,
      nodes: 2 + this.model.nodes.length,
    });
    expect(this.solo.ask({ type: 'children', path: '/locks' }).names).toEqual([]);
  }

  /** Ends every session, then checks that only persistent nodes remain. */
  endAll(): void {
    for (const session of this.#sessions) this.#expire(session);
    const persistent = this.model.nodes.length;
    expect(this.model.nodes.every(({ owner }) => owner === 0)).toBe(true);
    expect(this.solo.machine.counts).toEqual({
      sessions: 0,
      locks: 0,
      holds: 0,
      waits: 0,
      nodes: 2 + persistent,
      dataBytes: 0,
    });
  }

  #step(step: Step): void {
    const session = choose(this.#sessions, step.who);
    if (session === undefined) return this.#open();
    const lock = choose(LOCKS, step.what) ?? LOCKS[0];
    const own = choose(this.model.of(session.id), step.pick);
    switch (step.kind) {
      case 'open':
        return this.#open();
      case 'acquire':
        return this.#acquire(session, lock);
      case 'try':
        return this.#try(session, lock);
      case 'release':
        return this.#release(session, own);
      case 'cancel':
        return own === undefined ? this.#release(session, own) : this.#cancel(session, own);
      case 'attach':
        return this.#attach(session);
      case 'close':
        return this.#close(session, session);
      case 'closeOther':
        return this.#close(session, choose(this.#sessions, step.what) ?? session);
      case 'expire':
        return this.#expire(session);
      case 'expireStale':
        expect(this.solo.expire(session.id, session.generation - 1)).toEqual([]);
        return;
      case 'revoke':
        return this.#revoke(session, choose(this.model.acquires, step.pick));
      case 'create':
        return this.#create(session, choose(PATHS, step.what) ?? PATHS[0], step.pick % 2 === 0);
      case 'delete':
        return this.#delete(session, choose(PATHS, step.what) ?? PATHS[0]);
      case 'retry':
        return this.#retry(session, step.pick);
      case 'gap':
        return this.#gap(session, 2 + (step.pick % 5));
      case 'moved':
        return this.#moved(session);
      case 'noop':
        return this.solo.noop();
      case 'ack':
        session.ackedUpTo = Math.min(session.number, session.ackedUpTo + 1 + (step.pick % 3));
        return;
    }
  }

  #open(): void {
    const session = this.solo.open();
    this.#sessions.push(session);
    this.model.sessions.add(session.id);
  }

  #acquire(session: SoloSession, lock: string): void {
    const reply = this.#send(session, acquireCommand(lock));
    const { acquireIndex, token } = this.model.enqueue(session.id, lock, this.solo.index);
    expect(reply).toEqual({ type: 'acquire', acquireIndex, token });
  }

  #try(session: SoloSession, lock: string): void {
    const [holder] = this.model.queue(lock);
    const reply = this.#send(session, acquireCommand(lock, false));
    if (holder === undefined) {
      const { acquireIndex, token } = this.model.enqueue(session.id, lock, this.solo.index);
      expect(reply).toEqual({ type: 'acquire', acquireIndex, token });
    } else {
      const { session: holding, token, acquireIndex } = holder;
      expect(reply).toEqual({ type: 'lockHeld', holder: { session: holding, label: 'test', token, acquireIndex } });
    }
  }

  #release(session: SoloSession, own: ModelAcquire | undefined): void {
    const { lock, acquireIndex } = own ?? { lock: LOCKS[0], acquireIndex: 1 };
    const reply = this.#send(session, { type: 'release', lock, acquireIndex });
    if (own === undefined || own.token === 0) {
      expect(codeOf(reply)).toBe('NOT_HELD');
      return;
    }
    expect(reply).toEqual({ type: 'done' });
    this.#gone(own);
  }

  #cancel(session: SoloSession, own: ModelAcquire): void {
    const { lock, acquireIndex, token } = own;
    expect(this.#send(session, { type: 'cancel', lock, acquireIndex })).toEqual({ type: 'cancelled', token });
    this.#gone(own);
  }

  #gone(acquire: ModelAcquire): void {
    this.model.remove((other) => other === acquire);
    this.#grants = this.model.grant(this.solo.index);
  }

  #attach(session: SoloSession): void {
    const reply = session.attachAgain();
    expect(reply.lastApplied).toBe(session.number);
    expect(reply.acquires).toEqual(
      this.model.of(session.id).map(({ lock, acquireIndex, token }) => ({ lock, acquireIndex, token })),
    );
  }

  #close(session: SoloSession, victim: SoloSession): void {
    const own = session === victim;
    const reply = this.#send(session, { type: 'closeSession', session: own ? 0 : victim.id });
    expect(reply).toEqual({ type: 'done' });
    this.#over(victim, own ? 'closed' : 'revoked');
  }

  #expire(session: SoloSession): void {
    this.solo.expire(session.id, session.generation);
    this.#over(session, 'expired');
  }

  #over(session: SoloSession, reason: string): void {
    this.model.end(session.id);
    this.#grants = this.model.grant(this.solo.index);
    expect(this.solo.outputs.at(-1)).toEqual({ type: 'sessionEnded', session: session.id, reason });
    this.#sessions = this.#sessions.filter((other) => other !== session);
    this.#ended.push(session);
  }

  #revoke(session: SoloSession, acquire: ModelAcquire | undefined): void {
    if (acquire === undefined) return;
    const container = acquire.lock.replace('/', '%2F');
    const { names } = this.solo.ask({ type: 'children', path: `/locks/${container}` });
    // The names of a queue sort by number, as its acquires do.
    const name = names[this.model.queue(acquire.lock).indexOf(acquire)];
    this.#send(session, { type: 'delete', path: `/locks/${container}/${name}`, version: -1 });
    const { session: loser, lock, acquireIndex } = acquire;
    expect(only(this.solo.outputs, 'lost')).toEqual({
      type: 'lost',
      session: loser,
      lock,
      acquireIndex,
      reason: 'revoked',
    });
    this.#gone(acquire);
  }

  #create(session: SoloSession, path: string, ephemeral: boolean): void {
    const exists = this.model.nodes.some((node) => node.path === path);
    const command: Command = { type: 'create', path, data: bytes(''), ephemeral, sequential: false };
    const reply = this.#send(session, command);
    if (exists) {
      expect(codeOf(reply)).toBe('NODE_EXISTS');
    } else {
      expect(asReply(reply, 'created').stat.ephemeralOwner).toBe(ephemeral ? session.id : 0);
      this.model.nodes.push({ path, owner: ephemeral ? session.id : 0 });
    }
  }

  #delete(session: SoloSession, path: string): void {
    const exists = this.model.nodes.some((node) => node.path === path);
    const reply = this.#send(session, { type: 'delete', path, version: -1 });
    if (exists) expect(reply).toEqual({ type: 'done' });
    else expect(codeOf(reply)).toBe('NOT_FOUND');
    this.model.nodes = this.model.nodes.filter((node) => node.path !== path);
  }

  /** A command that was applied comes again. */
  #retry(session: SoloSession, pick: number): void {
    const sent = this.#sent.get(session.id) ?? [];
    const number = 1 + (pick % Math.max(1, sent.length));
    const original = sent[number - 1];
    if (original === undefined) return;
    const [output] = this.solo.apply(session.entry(original.command, number));
    if (output?.type === 'refused') {
      expect(output).toMatchObject({ code: 'OUT_OF_ORDER', lastApplied: session.number });
      expect(number).toBeLessThanOrEqual(session.ackedUpTo);
      return;
    }
    const { reply } = only(this.solo.outputs, 'reply');
    if (original.reply.type !== 'acquire') {
      expect(reply).toEqual(original.reply);
      return;
    }
    const now = this.model.acquires.find(
      ({ acquireIndex }) => acquireIndex === asReply(original.reply, 'acquire').acquireIndex,
    );
    if (now === undefined) expect(codeOf(reply)).toBe('NOT_HELD');
    else expect(reply).toEqual({ type: 'acquire', acquireIndex: now.acquireIndex, token: now.token });
  }

  #gap(session: SoloSession, skip: number): void {
    const { fold, appliedIndex } = this.solo.machine;
    const outputs = this.solo.apply(session.entry(acquireCommand(LOCKS[0]), session.number + skip));
    expect(outputs).toMatchObject([{ type: 'refused', code: 'OUT_OF_ORDER', lastApplied: session.number }]);
    expect([this.solo.machine.appliedIndex, this.solo.machine.fold === fold]).toEqual([appliedIndex + 1, false]);
  }

  #moved(session: SoloSession): void {
    const late = session.entry(acquireCommand(LOCKS[0]), session.number + 1);
    this.#attach(session);
    expect(only(this.solo.apply(late), 'refused').code).toBe('SESSION_MOVED');
  }

  #send(session: SoloSession, command: Command): Reply {
    const reply = session.send(command);
    const sent = this.#sent.get(session.id) ?? [];
    sent.push({ command, reply });
    this.#sent.set(session.id, sent);
    return reply;
  }

  /** What must be true after every entry. */
  #check(): void {
    const { solo, model } = this;
    const granted = all(solo.outputs, 'granted');
    expect(granted).toEqual(this.#grants.map((grant) => ({ type: 'granted', ...grant })));
    for (const lock of LOCKS) {
      const queue = solo.ask({ type: 'lock', lock }).queue.map(({ session, token, acquireIndex }) => ({
        session,
        lock,
        acquireIndex,
        token,
      }));
      expect(queue).toEqual(model.queue(lock));
      expect(queue.filter(({ token }) => token !== 0)).toHaveLength(queue.length === 0 ? 0 : 1);
    }
    const locks = model.locks().length;
    const holds = model.acquires.filter(({ token }) => token !== 0).length;
    expect(solo.machine.counts).toEqual({
      sessions: model.sessions.size,
      locks,
      holds,
      waits: model.acquires.length - holds,
      nodes: 2 + locks + model.acquires.length + model.nodes.length,
      dataBytes: 0,
    });
    const lost = this.#ended.at(-1);
    if (lost !== undefined) expect(solo.machine.session(lost.id)).toBeUndefined();
  }

  /** Re-attaching to any session that has ended is SESSION_EXPIRED. */
  checkEnded(): void {
    for (const { secret, id } of this.#ended) {
      expect(codeOf(this.solo.attach({ secret, session: id }))).toBe('SESSION_EXPIRED');
    }
  }
}

function choose<T>(items: readonly T[], pick: number): T | undefined {
  return items[pick % Math.max(1, items.length)];
}
