/** What operators do: revoke holds and waits, list what there is, and ask for changes of the members that are refused. */

import { HoldfastError, type Client, type OperatorClient } from '@holdfast/client';
import { expect } from 'vitest';
import { until } from '../lockd-process.ts';
import type { Clients } from './clients.ts';
import { expectRising, lockIsFree, ownsNothing, pending, refusal, waitersBecome } from './expectations.ts';
import type { Work } from './work.ts';

/** Deletes the nodes of a lock's queue: that of one who waits, and that of the holder. */
export class Revoking implements Work {
  readonly name = 'holds and waits that an operator revokes';
  readonly #lock = 'upgrade-revoked';
  readonly #tokens: number[] = [];
  #clients: Client[] = [];
  #operator!: OperatorClient;
  #rounds = 0;

  async begin(clients: Clients): Promise<void> {
    this.#clients = await clients.several(3, 'revoked');
    this.#operator = await clients.operator();
  }

  async round(): Promise<void> {
    const [holder, unlucky, next] = this.#clients as [Client, Client, Client];
    const held = await holder.lock(this.#lock).acquire();
    const wait = pending(unlucky.lock(this.#lock).acquire());
    await waitersBecome(this.#operator, this.#lock, [unlucky.sessionId]);
    const granted = pending(next.lock(this.#lock).acquire());
    await waitersBecome(this.#operator, this.#lock, [unlucky.sessionId, next.sessionId]);
    const [first, second, ...rest] = await this.#queueNodes();
    expect(rest.length, 'nodes of the queue behind the first two').toBe(1);
    await this.#operator.nodes.delete(second ?? '');
    expect(await refusal(wait), 'how a wait ends that is revoked').toBe('LOCK_LOST');
    held.assertHeld();
    await this.#operator.nodes.delete(first ?? '');
    const nextHeld = await granted;
    await until(() => held.loss !== undefined);
    expect(held.loss?.reason, 'the loss').toBe('revoked');
    this.#tokens.push(held.token, nextHeld.token);
    await nextHeld.release();
    this.#rounds += 1;
  }

  async check(): Promise<void> {
    expectRising(this.#tokens, 2 * this.#rounds);
    await lockIsFree(this.#operator, this.#lock);
    for (const client of this.#clients) await ownsNothing(client);
  }

  async #queueNodes(): Promise<string[]> {
    const container = `/holdfast/locks/${this.#lock}`;
    const { names } = await this.#operator.nodes.children(container);
    return names.map((name) => `${container}/${name}`);
  }
}

/** No member is added or removed: what an operator asks here is refused, or is so already. */
export class Operating implements Work {
  readonly name = 'listings and members';
  readonly #lock = 'upgrade-listed';
  #clients!: Clients;
  #client!: Client;
  #operator!: OperatorClient;

  async begin(clients: Clients): Promise<void> {
    this.#clients = clients;
    this.#client = (await clients.open('listed')).client;
    this.#operator = await clients.operator();
  }

  async round(): Promise<void> {
    const held = await this.#client.lock(this.#lock).acquire();
    const { sessionId } = this.#client;
    for (const admin of [this.#client.admin, this.#operator.admin]) {
      const locks = [];
      for await (const lock of admin.locks(this.#lock)) locks.push(lock);
      const holder = { session: sessionId, token: held.token, label: 'listed' };
      expect(locks, 'the locks by that name').toMatchObject([{ lock: this.#lock, holders: [holder], waiters: 0 }]);
      const sessions = [];
      for await (const session of admin.sessions()) if (session.session === sessionId) sessions.push(session);
      expect(sessions, 'the session').toMatchObject([{ label: 'listed', holds: 1, waits: 0, ephemerals: 0 }]);
    }
    await held.release();
    await this.#askOfMembers();
  }

  async check(): Promise<void> {
    await this.#askOfMembers();
    await lockIsFree(this.#operator, this.#lock);
  }

  async #askOfMembers(): Promise<void> {
    const { admin } = this.#operator;
    const { leader, members } = await repeated(() => admin.members());
    const voters = members.map(({ server, role }) => [server, role]);
    expect(voters, 'the members').toEqual(this.#clients.servers.map((_, n) => [n + 1, 'voter']));
    const promoted = await repeated(() => admin.promoteMember(leader));
    expect(promoted.members.length, 'the members, as the answer to a change has them').toBe(voters.length);
    const added = { joinSecret: '0'.repeat(32) };
    const answers = [
      await refusal(repeated(() => admin.addMember(1, '127.0.0.1:1', added))),
      await refusal(repeated(() => admin.removeMember(99))),
      await refusal(repeated(() => admin.transferLeadership(99))),
    ];
    expect(answers, 'what is refused').toEqual(['MEMBER_EXISTS', 'NOT_FOUND', 'NOT_FOUND']);
  }
}

/** As an operator does it who is told that it can't be done for the moment: the leader has changed, or is about to. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  let answer: T | undefined;
  await until(async () => {
    try {
      answer = await call();
      return true;
    } catch (error) {
      if (error instanceof HoldfastError && error.retryable) return false;
      throw error;
    }
  });
  return answer as T;
}
