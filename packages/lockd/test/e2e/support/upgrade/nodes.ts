/** Nodes: everything that can be done to them, what is refused, and reads of every consistency. */

import type { Client } from '@holdfast/client';
import { expect } from 'vitest';
import type { Clients } from './clients.ts';
import { refusal, textOf } from './expectations.ts';
import type { Work } from './work.ts';

/** How many of the nodes that were made last stay. */
const KEPT = 5;

/** Makes, changes, lists and deletes nodes, and knows what must be there. */
export class ChangingNodes implements Work {
  readonly name = 'changing nodes';
  readonly #top: string;
  /** What must be below the top, by name. */
  readonly #present = new Map<string, { readonly data: string; readonly version: number }>();
  #clients!: Clients;
  #client!: Client;
  #other!: Client;
  #rounds = 0;

  constructor(top = '/upgrade-nodes') {
    this.#top = top;
  }

  async begin(clients: Clients): Promise<void> {
    this.#clients = clients;
    this.#client = (await clients.open('changes nodes')).client;
    this.#other = (await clients.open('looks at nodes')).client;
    for (const path of [this.#top, `${this.#top}-numbered`]) await this.#client.nodes.create(path);
    await this.#client.nodes.create(`${this.#top}-mine`, 'mine', { ephemeral: true });
  }

  async round(): Promise<void> {
    const name = `node-${String(this.#rounds).padStart(6, '0')}`;
    await this.#make(name);
    await this.#number();
    await this.#makeEphemeral(`${this.#top}/ephemeral`);
    await this.#refuse(`${this.#top}/${name}`);
    await this.#list();
    await this.#deleteOldest();
    this.#rounds += 1;
  }

  async check(): Promise<void> {
    await this.#list();
    for (const [name, { data, version }] of this.#present) {
      const found = await this.#other.nodes.get(`${this.#top}/${name}`);
      expect([textOf(found.data), found.stat.version], name).toEqual([data, version]);
    }
    const { names, stat } = await this.#other.nodes.children(`${this.#top}-numbered`);
    expect(names, 'the numbered nodes, each round one').toEqual(
      Array.from({ length: this.#rounds }, (_, n) => numbered(n)),
    );
    expect(stat.numChildren, 'the number of numbered nodes').toBe(this.#rounds);
    await this.#clients.close(this.#client);
    expect(await this.#other.nodes.exists(`${this.#top}-mine`), 'the node of a session that was closed').toBe(
      undefined,
    );
  }

  async #make(name: string): Promise<void> {
    const { nodes } = this.#client;
    const path = `${this.#top}/${name}`;
    const made = await nodes.create(path, 'first');
    expect(made, 'the created node').toMatchObject({ path, stat: { version: 0, ephemeralOwner: 0 } });
    expect((await nodes.set(path, 'second', { version: 0 })).version, 'the version after a set').toBe(1);
    expect(await refusal(nodes.set(path, 'third', { version: 0 }))).toBe('BAD_VERSION');
    const set = await nodes.set(path, 'fourth');
    expect([set.version, set.czxid], 'the stat after a set').toEqual([2, made.stat.czxid]);
    expect(set.mzxid, 'the index of the last change').toBeGreaterThan(made.stat.mzxid);
    this.#present.set(name, { data: 'fourth', version: 2 });
    const found = await this.#other.nodes.get(path);
    expect([textOf(found.data), found.stat], 'what another client reads').toEqual(['fourth', set]);
  }

  /** A number that was given twice, or was skipped, shows in the path. */
  async #number(): Promise<void> {
    const prefix = `${this.#top}-numbered/n-`;
    const { path } = await this.#client.nodes.create(prefix, '', { sequential: true });
    expect(path, 'the path of the next numbered node').toBe(`${this.#top}-numbered/${numbered(this.#rounds)}`);
  }

  async #makeEphemeral(path: string): Promise<void> {
    const { nodes, sessionId } = this.#client;
    const { stat } = await nodes.create(path, '', { ephemeral: true });
    expect(stat.ephemeralOwner, 'the owner of an ephemeral node').toBe(sessionId);
    expect(await refusal(nodes.create(`${path}/child`))).toBe('EPHEMERAL_PARENT');
    expect((await this.#other.nodes.exists(path))?.ephemeralOwner).toBe(sessionId);
    await nodes.delete(path);
    expect(await this.#other.nodes.exists(path), 'a node that was deleted').toBeUndefined();
    const mine = await this.#other.nodes.exists(`${this.#top}-mine`);
    expect(mine?.ephemeralOwner, 'the owner of the node that stays').toBe(sessionId);
  }

  async #refuse(present: string): Promise<void> {
    const { nodes } = this.#client;
    const missing = `${this.#top}/missing`;
    const answers = await Promise.all([
      refusal(nodes.create(present, 'again')),
      refusal(nodes.create(`${missing}/child`)),
      refusal(nodes.create('/holdfast/mine')),
      refusal(nodes.set(missing, '')),
      refusal(nodes.get(missing)),
      refusal(nodes.children(missing)),
      refusal(nodes.delete(missing)),
      refusal(nodes.delete(present, { version: 7 })),
      refusal(nodes.delete(this.#top)),
    ]);
    expect(answers, 'what is refused').toEqual([
      'NODE_EXISTS',
      'NOT_FOUND',
      'RESERVED_PATH',
      'NOT_FOUND',
      'NOT_FOUND',
      'NOT_FOUND',
      'NOT_FOUND',
      'BAD_VERSION',
      'NOT_EMPTY',
    ]);
  }

  async #list(): Promise<void> {
    const { names, stat } = await this.#other.nodes.children(this.#top);
    expect(names, 'the children').toEqual([...this.#present.keys()]);
    expect(stat.numChildren, 'the number of children').toBe(this.#present.size);
  }

  async #deleteOldest(): Promise<void> {
    const [oldest] = this.#present.keys();
    if (oldest === undefined || this.#present.size <= KEPT) return;
    await this.#client.nodes.delete(`${this.#top}/${oldest}`, { version: 2 });
    this.#present.delete(oldest);
  }
}

/** One client writes, and others read: at once where the read is linearizable, later and never wrongly where it is not. */
export class Reading implements Work {
  readonly name = 'reading what was written';
  readonly #path = '/upgrade-read';
  #writer!: Client;
  #readers: Client[] = [];
  #written = 0;

  async begin(clients: Clients): Promise<void> {
    this.#writer = (await clients.open('writes')).client;
    this.#readers = await clients.several(2, 'reads');
    await this.#writer.nodes.create(this.#path, '0');
  }

  async round(): Promise<void> {
    this.#written += 1;
    const { version } = await this.#writer.nodes.set(this.#path, String(this.#written));
    expect(version, 'the version, which counts the writes').toBe(this.#written);
    expect(await this.#read(this.#writer, 'session'), 'the own write, in the session').toBe(this.#written);
    for (const reader of this.#readers) {
      // Before the linearizable read, which this client's session has seen from then on.
      expect(await this.#read(reader, 'local'), 'a local read').toBeLessThanOrEqual(this.#written);
      expect(await this.#read(reader, 'linearizable'), 'a linearizable read').toBe(this.#written);
      expect(await this.#read(reader, 'session'), 'a read behind it in the session').toBe(this.#written);
    }
  }

  async check(): Promise<void> {
    for (const client of [this.#writer, ...this.#readers]) {
      expect(await this.#read(client, 'linearizable'), 'the last write').toBe(this.#written);
      expect((await client.nodes.exists(this.#path))?.version, 'how often it was written').toBe(this.#written);
    }
  }

  async #read(client: Client, consistency: 'linearizable' | 'session' | 'local'): Promise<number> {
    return Number(textOf((await client.nodes.get(this.#path, { consistency })).data));
  }
}

function numbered(n: number): string {
  return `n-${String(n).padStart(10, '0')}`;
}
