/** Every kind of command of `lockctl`, at whoever leads and, where a command asks any server, at each server by itself. */

import { expect } from 'vitest';
import { lockctl } from '../lockctl.ts';
import { expectRising } from './expectations.ts';
import type { Work } from './work.ts';

interface Listed {
  readonly lock: string;
  readonly holders: readonly { readonly token: number }[];
}

export class RunningLockctl implements Work {
  readonly name = 'the commands of lockctl';
  readonly #ports: readonly number[];
  readonly #top = '/upgrade-lockctl';
  readonly #tokens: number[] = [];
  #rounds = 0;

  /** Ports for clients, in the order of the servers' numbers. */
  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  async begin(): Promise<void> {
    await this.#run('create', this.#top);
  }

  async round(): Promise<void> {
    await Promise.all([this.#underLock(), this.#nodes(), this.#members(), this.#listings()]);
    this.#rounds += 1;
  }

  async check(): Promise<void> {
    expectRising(this.#tokens, this.#rounds);
    const { names, stat } = (await this.#json('ls', this.#top)) as { names: string[]; stat: { cversion: number } };
    expect([names, stat.cversion], 'nodes that are left, and changes of the list').toEqual([[], 2 * this.#rounds]);
  }

  async #underLock(): Promise<void> {
    const token = await this.#run(
      'lock',
      'upgrade-lockctl',
      '--wait',
      '10s',
      '--',
      '/bin/sh',
      '-c',
      'echo $HOLDFAST_TOKEN',
    );
    this.#tokens.push(Number(token));
  }

  async #nodes(): Promise<void> {
    const path = (await this.#run('create', `${this.#top}/n-`, 'made', '--sequential')).trim();
    expect(path, 'the path of the next node').toBe(`${this.#top}/n-${String(this.#rounds).padStart(10, '0')}`);
    expect(await this.#run('set', path, 'changed', '--version', '0'), 'set').toBe('version 1\n');
    expect(await this.#json('get', path), 'get').toMatchObject({ text: 'changed', stat: { version: 1 } });
    await this.#run('delete', path, '--version', '1');
    expect((await lockctl(this.#ports, 'stat', path)).code, 'stat of a node that was deleted').toBe(1);
  }

  async #members(): Promise<void> {
    const members = this.#ports.map((_, n) => ({ server: n + 1, role: 'voter' }));
    for (const [n, port] of this.#ports.entries()) {
      const answer = JSON.parse(await this.#at([port], 'members', '--stale', '--json')) as unknown;
      expect(answer, `what server ${n + 1} says of the members`).toMatchObject({ members, stale: { server: n + 1 } });
    }
    const { servers } = (await this.#json('status')) as { servers: unknown[] };
    expect(servers, 'the status of each').toMatchObject(this.#ports.map((_, n) => ({ reachable: true, id: n + 1 })));
  }

  /** Of the hold that stays all the while, in every form in which it is told. */
  async #listings(): Promise<void> {
    const { locks } = (await this.#json('locks', 'upgrade-kept')) as { locks: Listed[] };
    const shown = (await this.#json('show', 'upgrade-kept')) as Listed;
    expect(locks, 'the locks by that name').toMatchObject([{ lock: 'upgrade-kept', waiters: 1 }]);
    expect(shown.holders, 'the holder').toEqual(locks[0]?.holders);
    const { sessions } = (await this.#json('sessions')) as { sessions: unknown[] };
    expect(sessions, 'the sessions').toContainEqual(expect.objectContaining({ label: 'keeps', holds: 1, waits: 0 }));
    expect(sessions, 'the sessions').toContainEqual(expect.objectContaining({ label: 'waits', holds: 0, waits: 1 }));
  }

  async #json(...args: readonly string[]): Promise<unknown> {
    return JSON.parse(await this.#run(...args, '--json')) as unknown;
  }

  #run(...args: readonly string[]): Promise<string> {
    return this.#at(this.#ports, ...args);
  }

  async #at(ports: readonly number[], ...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await lockctl(ports, ...args);
    expect(code, `lockctl ${args.join(' ')}: ${stderr}`).toBe(0);
    return stdout;
  }
}
