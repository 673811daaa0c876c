import type { Entry } from '@holdfast/raft';
import type { Network } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { ClientConversations } from '../support/hostile/client-conversations.ts';
import { converse } from '../support/hostile/converse.ts';
import type { Conversation } from '../support/hostile/conversation.ts';
import { PeerConversations } from '../support/hostile/peer-conversations.ts';
import { SimEnsemble } from './sim-ensemble.ts';

const CONVERSATIONS = 400;
const LOCK = 'well-behaved';

/** Folds by index and server, which must be equal wherever two servers have one. */
class Folds {
  readonly #byIndex = new Map<number, number>();
  readonly applied = new Map<number, number>();

  observe(server: number, { index }: Entry, fold: number): void {
    const known = this.#byIndex.get(index);
    expect(fold, `the fold of server ${server} at ${index}`).toBe(known ?? fold);
    this.#byIndex.set(index, fold);
    this.applied.set(server, index);
  }
}

class Scene {
  readonly ensemble: SimEnsemble;
  readonly folds = new Folds();
  readonly #clients: ClientConversations;
  readonly #seed: number;
  #hosts = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.ensemble = new SimEnsemble(seed, 3, (id, entry, fold) => this.folds.observe(id, entry, fold));
    this.#clients = new ClientConversations({ clusterId: 'sim', lock: LOCK }, this.ensemble.world.random('hostile'));
  }

  client(): Conversation {
    return this.#clients.next();
  }

  async peers(server: number): Promise<PeerConversations> {
    const member = (server % 3) + 1;
    const { disk } = this.ensemble.world.host(SimEnsemble.hostOf(member)).runtime;
    const identity = await this.ensemble.complete(disk.readFile('/data/identity.json'));
    const { incarnation } = JSON.parse(Buffer.from(identity).toString()) as { readonly incarnation: string };
    const targets = { clusterId: 'sim', server, member, incarnation, clientFrames: [this.#aClientFrame()] };
    return new PeerConversations(targets, this.ensemble.world.random(`peers of ${server}`));
  }

  /** Holds them with one server, a few at a time; resolves with what was wrong. */
  async hold(conversations: readonly Conversation[], address: string): Promise<string[]> {
    this.#hosts += 1;
    const { network } = this.ensemble.world.host(`hostile-${this.#hosts}`).runtime;
    const problems = await Promise.all(
      Array.from({ length: 8 }, (_, worker) =>
        this.#holdInTurn(
          conversations.filter((_each, n) => n % 8 === worker),
          address,
          network,
        ),
      ),
    );
    return problems.flat().map((problem) => `seed ${this.#seed}: ${problem}`);
  }

  async #holdInTurn(conversations: readonly Conversation[], address: string, network: Network): Promise<string[]> {
    const problems: string[] = [];
    for (const [n, conversation] of conversations.entries()) {
      const problem = await converse(network, conversation, { address, leave: n % 2 === 0 ? 'close' : 'destroy' });
      if (problem !== undefined) problems.push(problem);
    }
    return problems;
  }

  #aClientFrame(): Uint8Array {
    const frame = this.client().steps.find((step) => typeof step !== 'string');
    if (frame === undefined) throw new Error('a conversation without a frame');
    return frame;
  }
}

describe('hostile input to every port of an ensemble', () => {
  it.each([31, 32])('changes no state on one server alone, and holds up no client (seed %i)', async (seed) => {
    const scene = new Scene(seed);
    const { ensemble, folds } = scene;
    await ensemble.start();
    const { term } = ensemble.server(ensemble.leader).status;
    const client = ensemble.client();
    let cycles = 0;
    let hostile = true;
    const work = async (): Promise<void> => {
      while (hostile) {
        expect(await client.release(await client.acquire(LOCK))).toEqual({ type: 'done' });
        cycles += 1;
      }
    };
    const working = work();
    const startMs = ensemble.world.nowMs;
    const peersOf = new Map<number, PeerConversations>();
    for (const id of ensemble.ids) peersOf.set(id, await scene.peers(id));
    const held = ensemble.ids.flatMap((id) => {
      const peers = peersOf.get(id);
      if (peers === undefined) throw new Error('no conversations');
      const toClients = Array.from({ length: CONVERSATIONS }, () => scene.client());
      const toPeers = Array.from({ length: CONVERSATIONS / 4 }, () => peers.stranger());
      const host = SimEnsemble.hostOf(id);
      return [scene.hold(toClients, `${host}:7100`), scene.hold(toPeers, `${host}:7200`)];
    });
    expect((await ensemble.complete(Promise.all(held), 600_000)).flat()).toEqual([]);
    const hostileCycles = cycles;
    await ensemble.pass(ensemble.world.nowMs - startMs);
    const quietCycles = cycles - hostileCycles;
    hostile = false;
    await ensemble.complete(working);
    expect(quietCycles).toBeGreaterThan(0);
    expect(hostileCycles).toBeGreaterThan(quietCycles / 2);

    // The sessions of hostile clients are over, and everyone has applied the same.
    await ensemble.until(() => ensemble.ids.every((id) => ensemble.server(id).status.sessions === 1));
    await ensemble.until(() => new Set(folds.applied.values()).size === 1);
    for (const id of ensemble.ids) {
      const { members, term: now } = ensemble.server(id).status;
      expect(members.map(({ connected }) => connected)).toEqual([true, true, true]);
      expect(now).toBe(term);
    }
    const connections = ensemble.ids.map((id) => ensemble.server(id).status.connections);
    expect(
      connections.reduce((sum, count) => sum + count, 0),
      'connections: that of the client',
    ).toBe(1);
    expect(ensemble.failures).toEqual([]);
  });
});

describe("a stranger who says a member's hello", () => {
  it('costs that member its connection for a moment, and nobody anything else', async () => {
    const scene = new Scene(33);
    const { ensemble } = scene;
    await ensemble.start();
    const client = ensemble.client();
    for (const id of ensemble.ids) {
      const peers = await scene.peers(id);
      const impostors = Array.from({ length: 30 }, () => peers.impostor());
      const held = scene.hold(impostors, `${SimEnsemble.hostOf(id)}:7200`);
      expect(await ensemble.complete(held, 60_000)).toEqual([]);
      expect(await ensemble.complete(client.release(await ensemble.complete(client.acquire(LOCK))))).toEqual({
        type: 'done',
      });
    }
    await ensemble.until(() =>
      ensemble.ids.every((id) => ensemble.server(id).status.members.every(({ connected }) => connected)),
    );
    expect(ensemble.failures).toEqual([]);
  });
});
