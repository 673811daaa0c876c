import { connect, type Client } from '@holdfast/client';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { LockServer } from '../../src/server.ts';

const FOUNDERS = [1, 2, 3];

/** Servers that may join later, on a simulated world. */
class Scene {
  readonly world: SimWorld;
  readonly servers = new Map<number, LockServer>();
  readonly removed: number[] = [];
  readonly failures: unknown[] = [];

  constructor(seed: number) {
    this.world = new SimWorld({ seed });
  }

  async start(id: number): Promise<LockServer> {
    const host = this.world.host(`s${id}`);
    if (host.state === 'down') host.restart();
    const founds = FOUNDERS.includes(id);
    const starting = LockServer.start(
      {
        id,
        clusterId: 'sim',
        clientListen: `s${id}:7100`,
        peerListen: `s${id}:7200`,
        dataDirectory: '/data',
        members: founds ? FOUNDERS.map((member) => ({ id: member, peerAddress: `s${member}:7200` })) : [],
        join: !founds,
        segmentBytes: 64 * 1024,
      },
      host.runtime,
      { fatal: (error) => this.failures.push(error), removed: () => this.removed.push(id) },
    );
    const server = await this.world.complete(starting, { maxMs: 60_000 });
    this.servers.set(id, server);
    return server;
  }

  down(id: number): void {
    this.servers.delete(id);
    this.world.host(`s${id}`).crash();
  }

  async client(...ids: readonly number[]): Promise<Client> {
    const { runtime } = this.world.host(`c${ids.join('-')}`);
    return this.world.complete(connect({ servers: ids.map((id) => `s${id}:7100`) }, runtime), { maxMs: 30_000 });
  }

  async add(client: Client, id: number): Promise<void> {
    const { joinSecret = '' } = await this.start(id);
    await this.world.complete(client.admin.addMember(id, `s${id}:7200`, { joinSecret }), { maxMs: 60_000 });
    await this.until(() => this.roles(id)[id] === 'voter');
  }

  roles(id: number): Record<number, string> {
    return Object.fromEntries((this.servers.get(id)?.status.members ?? []).map((each) => [each.id, each.role]));
  }

  until(condition: () => boolean, maxMs = 60_000): Promise<void> {
    return this.world.run({ until: condition, maxMs });
  }

  /** {1, 2, 3} becomes {3, 4, 5} while 3 is down. */
  async replaceOthers(): Promise<void> {
    for (const id of FOUNDERS) await this.start(id);
    const client = await this.client(1, 2);
    await this.world.complete(client.nodes.create('/before'), { maxMs: 30_000 });
    // Everybody is known by then.
    await this.world.run({ untilMs: this.world.nowMs + 3_000 });
    this.down(3);
    for (const id of [4, 5]) await this.add(client, id);
    const operator = await this.client(4, 5);
    for (const id of [1, 2]) {
      await this.world.complete(operator.admin.removeMember(id), { maxMs: 60_000 });
      await this.until(() => this.removed.includes(id));
      this.down(id);
    }
    await this.world.complete(operator.nodes.create('/after'), { maxMs: 30_000 });
  }
}

describe('a member that was down while all others were replaced', () => {
  it.each([1, 2, 3])('lets in those that it does not know, and belongs to them again (seed %i)', async (seed) => {
    const scene = new Scene(seed);
    await scene.replaceOthers();
    const server = await scene.start(3);
    await scene.until(() => JSON.stringify(scene.roles(3)) === '{"3":"voter","4":"voter","5":"voter"}');
    await scene.until(
      () => server.status.leader !== 0 && server.status.appliedIndex === scene.servers.get(4)?.status.appliedIndex,
    );
    // Its vote is needed now.
    scene.down(5);
    const client = await scene.client(3, 4);
    await scene.world.complete(client.nodes.get('/after'), { maxMs: 30_000 });
    expect(scene.failures).toEqual([]);
  });

  it('is told by those that it does not know when it was removed itself, and ends', async () => {
    const scene = new Scene(4);
    await scene.replaceOthers();
    const operator = await scene.client(4, 5);
    await scene.world.complete(operator.admin.removeMember(3), { maxMs: 60_000 });
    await scene.start(3);
    await scene.until(() => scene.removed.includes(3));
    expect(scene.failures).toEqual([]);
  });
});
