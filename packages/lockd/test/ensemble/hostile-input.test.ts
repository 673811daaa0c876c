import { decodeSnapshotMessage, type DialledGreeting, type Entry, type SnapshotMessage } from '@holdfast/raft';
import type { Network } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { ClientConversations } from '../support/hostile/client-conversations.ts';
import { converse } from '../support/hostile/converse.ts';
import type { Conversation } from '../support/hostile/conversation.ts';
import { PeerConversations } from '../support/hostile/peer-conversations.ts';
import { SimEnsemble } from './sim-ensemble.ts';

const CONVERSATIONS = 400;
const LOCK = 'well-behaved';

/** State digests by index and server, which must be equal wherever two servers have one. */
class StateDigests {
  readonly #byIndex = new Map<number, number>();
  readonly applied = new Map<number, number>();

  observe(server: number, { index }: Entry, digest: number): void {
    const known = this.#byIndex.get(index);
    expect(digest, `the digest of server ${server} at ${index}`).toBe(known ?? digest);
    this.#byIndex.set(index, digest);
    this.applied.set(server, index);
  }
}

class Scene {
  readonly ensemble: SimEnsemble;
  readonly digests = new StateDigests();
  readonly #clients: ClientConversations;
  readonly #seed: number;
  #hosts = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.ensemble = new SimEnsemble(seed, 3, (id, entry, digest) => this.digests.observe(id, entry, digest));
    this.#clients = new ClientConversations({ clusterId: 'sim', lock: LOCK }, this.ensemble.world.random('hostile'));
  }

  client(): Conversation {
    return this.#clients.next();
  }

  peers(server: number): PeerConversations {
    const member = (server % 3) + 1;
    const targets = { clusterId: 'sim', server, member, clientFrames: [this.#aClientFrame()], lock: LOCK };
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

  /** Of the data directory of a server. */
  async incarnationOf(server: number): Promise<string> {
    const { disk } = this.ensemble.world.host(SimEnsemble.hostOf(server)).runtime;
    const identity = await this.ensemble.complete(disk.readFile('/data/identity.json'));
    return (JSON.parse(Buffer.from(identity).toString()) as { readonly incarnation: string }).incarnation;
  }

  /** Says everything at once on a connection for a snapshot, once it is welcome; resolves with the verdict. */
  async say(greeting: DialledGreeting, frames: readonly Uint8Array[], address: string): Promise<SnapshotMessage> {
    this.#hosts += 1;
    const { network } = this.ensemble.world.host(`hostile-${this.#hosts}`).runtime;
    const connection = await network.dial({ address, timeoutMs: 10_000, maxFrameBytes: 1024 * 1024 });
    let welcome = false;
    return new Promise((resolve, reject) => {
      connection.setHandler({
        frame: (bytes) => {
          if (!greeting.challenged) {
            greeting.challengedBy(bytes);
            connection.send(greeting.proof);
            return;
          }
          if (!welcome) {
            welcome = true;
            for (const frame of frames) connection.send(new Uint8Array(frame));
            return;
          }
          const message = decodeSnapshotMessage(bytes);
          if (message.type === 'resume' || message.type === 'written') return;
          resolve(message);
          connection.destroy();
        },
        close: (reason) => reject(new Error(`closed: ${reason}`)),
      });
      connection.send(new Uint8Array(greeting.hello));
    });
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
    const { ensemble, digests } = scene;
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
    for (const id of ensemble.ids) peersOf.set(id, scene.peers(id));
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
    await ensemble.until(() => new Set(digests.applied.values()).size === 1);
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
  it('is not let in, and costs nobody anything', async () => {
    const scene = new Scene(33);
    const { ensemble } = scene;
    await ensemble.start();
    const client = ensemble.client();
    const { term } = ensemble.server(ensemble.leader).status;
    for (const id of ensemble.ids) {
      const peers = scene.peers(id);
      const impostors = Array.from({ length: 30 }, (_, n) =>
        n % 2 === 0 ? peers.impostor() : peers.forwardingImpostor(),
      );
      const held = scene.hold(impostors, `${SimEnsemble.hostOf(id)}:7200`);
      expect(await ensemble.complete(held, 60_000)).toEqual([]);
      expect(await ensemble.complete(client.release(await ensemble.complete(client.acquire(LOCK))))).toEqual({
        type: 'done',
      });
    }
    for (const id of ensemble.ids) {
      const { members, term: now } = ensemble.server(id).status;
      expect(members.map(({ connected }) => connected)).toEqual([true, true, true]);
      expect(now).toBe(term);
    }
    expect(ensemble.failures).toEqual([]);
  });
});

describe('a forged snapshot in the name of a member', () => {
  it('is refused by the state machine, and costs neither the server nor its log anything', async () => {
    const scene = new Scene(34);
    const { ensemble } = scene;
    await ensemble.start();
    const client = ensemble.client();
    await ensemble.complete(client.release(await ensemble.complete(client.acquire(LOCK))));
    for (const id of ensemble.ids) {
      const peers = scene.peers(id);
      const forged = peers.forgedSnapshot(1_000_000, new Uint8Array(4_000).fill(7));
      const greeting = peers.greetingOfMember(await scene.incarnationOf((id % 3) + 1), 'snapshot');
      const { disk } = ensemble.world.host(SimEnsemble.hostOf(id));
      const before = disk.files();
      const answer = await ensemble.complete(scene.say(greeting, forged, `${SimEnsemble.hostOf(id)}:7200`));
      expect(answer).toMatchObject({
        type: 'refused',
        reason: expect.stringMatching(/^its state machine refuses it: /),
      });
      expect(disk.files()).toEqual(before);
      // Neither does a start find anything of it.
      ensemble.crash(id);
      await ensemble.startServer(id);
      await ensemble.complete(client.release(await ensemble.complete(client.acquire(LOCK))));
    }
    expect(ensemble.failures).toEqual([]);
  });
});
