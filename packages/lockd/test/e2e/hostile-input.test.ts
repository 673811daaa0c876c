import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@holdfast/client';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { randomStream } from '@holdfast/runtime/sim';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClientConversations } from '../support/hostile/client-conversations.ts';
import { converse } from '../support/hostile/converse.ts';
import { PeerConversations } from '../support/hostile/peer-conversations.ts';
import { WireRubbish, type Rubbish } from '../support/hostile/wire-rubbish.ts';
import { REPORT_MEMORY, bytesInUse } from './support/in-use.ts';
import { LockdProcess, until } from './support/lockd-process.ts';
import { CLUSTER_ID, argumentsFor, places, status, type Place } from './support/places.ts';

const MESSAGES = 100_000;
const WORKERS = 16;
/** Of kinds of conversation and of rubbish at least so many must have come; a few are rare. */
const KINDS = 50;
/** Of a peer's hello, of its frames and of a client, each with its own line a second. */
const REFUSAL_REASONS = 16;
const LOCK = 'well-behaved';
/** Another seed is another run: HOLDFAST_HOSTILE_SEED=7. */
const SEED = process.env['HOLDFAST_HOSTILE_SEED'] ?? '1';
/** What the server gives a connection that does not say what it must: 5 s for a hello, 10 s for an HTTP head. */
const SILENCE_LIMIT_MS = 20_000;
/**
 * What is allowed to grow: the log, whose last entries are in memory (measured: 540 bytes an entry, of which the well-behaved client
 * makes most), and a little that is not the number of messages. The leader hears three of four; 40 bytes kept of each are more.
 */
const BYTES_PER_ENTRY = 640;
const MEMORY_SLACK_BYTES = 1024 * 1024;
const { network } = nodeRuntime({ logger: silentLogger });

let directory: string;
let trio: Place[];
let servers: LockdProcess[];
let client: Client;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-hostile-'));
  trio = await places(3);
  // A loaded machine must not look like a server that hangs.
  const patience = ['--election-timeout-ms', '5000'];
  servers = trio.map(
    (_, n) => new LockdProcess([...argumentsFor(n + 1, trio, directory), ...patience], {}, REPORT_MEMORY),
  );
  for (const server of servers) await server.serves();
  client = await connect({ servers: trio.map((place) => `127.0.0.1:${place.client}`), sessionTimeoutMs: 30_000 });
});

afterAll(async () => {
  await client?.close();
  for (const server of servers ?? []) server.kill('SIGKILL');
  await Promise.all((servers ?? []).map((server) => server.ended()));
  rmSync(directory, { recursive: true, force: true });
});

/** Takes and gives back a lock until it is stopped; rejects with the first error. */
function cycling(): { readonly count: () => number; readonly stop: () => Promise<void> } {
  let count = 0;
  let running = true;
  const work = async (): Promise<void> => {
    const lock = client.lock(LOCK);
    while (running) {
      const held = await lock.acquire();
      held.assertHeld();
      await held.release();
      count += 1;
    }
  };
  const done = work();
  done.catch(() => undefined);
  return {
    count: () => count,
    stop: () => {
      running = false;
      return done;
    },
  };
}

/** Resolves once the connection has ended, with what was answered. */
function speak(port: number, { bytes, ending }: Pick<Rubbish, 'bytes' | 'ending'>): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectSocket({ host: '127.0.0.1', port });
    let answer = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (answer += text));
    // A reset is an end as well.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
    socket.on('connect', () => {
      socket.write(bytes, () => {
        if (ending === 'cut') socket.resetAndDestroy();
      });
    });
  });
}

async function endsInTime<T>(kind: string, connection: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${kind}: the connection did not end`)), SILENCE_LIMIT_MS);
  });
  try {
    return await Promise.race([connection, late]);
  } finally {
    clearTimeout(timer);
  }
}

class Attack {
  messages = 0;
  sessions = 0;
  readonly kinds = new Map<string, number>();
  readonly problems: string[] = [];
  readonly #leader: number;

  /** Most of it goes to the leader, the rest to a follower. */
  constructor(leader: number) {
    this.#leader = leader;
  }

  /** Goes on until so many messages were sent in all. */
  async run(upTo: number): Promise<void> {
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => this.#work(worker, upTo)));
  }

  async #work(worker: number, upTo: number): Promise<void> {
    const random = randomStream(`${SEED}/${upTo}`, `worker ${worker}`);
    const server = worker % 4 === 0 ? (this.#leader % 3) + 1 : this.#leader;
    const { client: clientPort, peer: peerPort } = trio[server - 1] ?? { client: 0, peer: 0 };
    const clients = new ClientConversations({ clusterId: CLUSTER_ID, lock: LOCK }, random);
    const clientFrames = [clients.next(), clients.next()].flatMap(({ steps }) =>
      steps.filter((step) => typeof step !== 'string'),
    );
    const targets = { clusterId: CLUSTER_ID, server, member: (server % 3) + 1, clientFrames, lock: LOCK };
    const peers = new PeerConversations(targets, random);
    const rubbish = [clientPort, peerPort].map((port) => new WireRubbish(`127.0.0.1:${port}`, random));
    while (this.messages < upTo) {
      const draw = random.integer(20);
      if (draw < 2) {
        const port = draw === 0 ? clientPort : peerPort;
        const { kind, ...said } = rubbish[draw]?.next() ?? { kind: '', bytes: new Uint8Array(), ending: 'cut' };
        this.#count(`${draw === 0 ? 'client' : 'peer'} port: ${kind}`, 1);
        await endsInTime(kind, speak(port, said));
        continue;
      }
      const toPeers = draw < 6;
      const conversation = toPeers ? peers.stranger() : clients.next();
      if (conversation.kind.includes('session')) this.sessions += 1;
      this.#count(conversation.kind, conversation.messages);
      const address = `127.0.0.1:${toPeers ? peerPort : clientPort}`;
      const leave = random.integer(2) === 0 ? 'close' : 'destroy';
      const problem = await endsInTime(conversation.kind, converse(network, conversation, { address, leave }));
      if (problem !== undefined) this.problems.push(problem);
    }
  }

  #count(kind: string, messages: number): void {
    this.messages += messages;
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + messages);
  }
}

interface InUse {
  readonly bytes: number;
  readonly entries: number;
}

/** What each server has really in use, once everything that was hostile has gone. */
async function memory(): Promise<InUse[]> {
  await until(async () => (await connections()) === 1);
  await until(async () => (await status(trio[0]?.client ?? 0)).sessions === 1);
  return Promise.all(
    servers.map(async (server, n): Promise<InUse> => {
      const bytes = await bytesInUse(server);
      return { bytes, entries: (await status(trio[n]?.client ?? 0)).appliedIndex };
    }),
  );
}

async function connections(): Promise<number> {
  const each = await Promise.all(trio.map(async (place) => (await status(place.client)).connections));
  return each.reduce((sum, count) => sum + count, 0);
}

describe(`an ensemble under ${MESSAGES} hostile messages (seed ${SEED})`, () => {
  it('lives, serves a well-behaved client, and has nothing of it in memory or log afterwards', async () => {
    const leader = (await status(trio[0]?.client ?? 0)).leader;
    const before = await status(trio[leader - 1]?.client ?? 0);
    const logLines = (): number => servers.reduce((sum, { stderr }) => sum + stderr.split('\n').length, 0);
    const linesBefore = logLines();
    const begunMs = performance.now();
    const silent = Promise.all(
      trio.flatMap(({ client: clientPort, peer }) =>
        [clientPort, peer].flatMap((port) => {
          const silences = [new Uint8Array(), Buffer.from('GET / HTTP/1.1\r\nHost:'), upgradeAt(port)];
          return silences.map((bytes) => endsInTime('silence', speak(port, { bytes, ending: 'ended' })));
        }),
      ),
    );
    silent.catch(() => undefined);
    const cycles = cycling();
    const attack = new Attack(leader);
    let quiet: readonly InUse[] = [];
    for (let part = 1; part <= 9; part += 1) {
      const cyclesBefore = cycles.count();
      await attack.run((part * MESSAGES) / 9);
      expect(cycles.count(), `cycles in part ${part}`).toBeGreaterThan(cyclesBefore);
      if (part === 3) quiet = await memory();
    }
    expect(attack.problems).toEqual([]);
    await cycles.stop();
    const answersToSilence = await silent;
    expect(answersToSilence.filter((answer) => answer.includes('101 Switching'))).toHaveLength(6);

    for (const [n, { bytes, entries }] of (await memory()).entries()) {
      const from = quiet[n] ?? { bytes: 0, entries: 0 };
      const allowed = MEMORY_SLACK_BYTES + BYTES_PER_ENTRY * (entries - from.entries);
      expect(bytes - from.bytes, `growth of server ${n + 1}`).toBeLessThan(allowed);
    }
    for (const [n, server] of servers.entries()) {
      expect(server.child.exitCode, server.stderr).toBeNull();
      const { term, members } = await status(trio[n]?.client ?? 0);
      expect(term, 'no election').toBe(before.term);
      expect(members.map(({ connected }) => connected)).toEqual([true, true, true]);
      expect(server.stderr).not.toContain('connection to peer closed');
    }
    // A line for each session that expired, and one a second and server for each reason of a refusal.
    const seconds = (performance.now() - begunMs) / 1_000 + 2;
    const allowedLines = attack.sessions + 20 + seconds * servers.length * REFUSAL_REASONS;
    expect(logLines() - linesBefore).toBeLessThanOrEqual(allowedLines);
    expect(attack.kinds.size, [...attack.kinds.keys()].join(', ')).toBeGreaterThan(KINDS);
  });
});

/** A WebSocket that says nothing. */
function upgradeAt(port: number): Uint8Array {
  return new WireRubbish(`127.0.0.1:${port}`, randomStream(SEED, `silence at ${port}`)).upgrade();
}
