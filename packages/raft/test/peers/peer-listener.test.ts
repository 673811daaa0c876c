import { pack } from '@holdfast/protocol';
import { silentLogger, type Connection, type ConnectionHandler, type Logger, type Timer } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../src/core/index.ts';
import {
  NONCE_BYTES,
  PEER_PROTOCOL_VERSION,
  decodeChallenge,
  encodeExpulsion,
  encodeHello,
  encodeProof,
  encodeWelcome,
  type PeerHello,
} from '../../src/peers/greeting-codec.ts';
import { DialledGreeting, NO_BYTES, type OwnHello } from '../../src/peers/greeting.ts';
import { linkTiming } from '../../src/peers/link-watch.ts';
import type { Verdict } from '../../src/peers/peer-admission.ts';
import { PeerFeature } from '../../src/peers/peer-features.ts';
import { MAX_UNGREETED_PEERS, PeerListener } from '../../src/peers/peer-listener.ts';

class FakeConnection implements Connection {
  readonly remoteAddress = 'peer:1';
  readonly bufferedBytes = 0;
  readonly peerIdentity = undefined;
  receivedBytes = 0;
  closedWith: string | undefined;
  heard: Uint8Array[] = [];
  #handler: ConnectionHandler | undefined;

  get open(): boolean {
    return this.closedWith === undefined;
  }

  admitted = false;

  admit(): void {
    this.admitted = true;
  }

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
  }

  send(frame: Uint8Array): void {
    this.heard.push(frame);
  }

  close(reason = 'closed'): void {
    if (!this.open) return;
    this.closedWith = reason;
    this.#handler?.close(reason);
  }

  destroy(): void {
    this.close('destroyed');
  }

  say(frame: Uint8Array): void {
    if (!this.open) return;
    this.receivedBytes += frame.length;
    this.#handler?.frame(frame);
  }
}

const TIMING = linkTiming(1_000);
const OWN_SECRET = 'the secret of server 1';

/** The ear of server 1 of three. */
class Scene {
  readonly events: string[] = [];
  readonly lines: object[] = [];
  nowMs = 0;
  readonly timers: { readonly run: () => void; cancelled: boolean }[] = [];
  /** By their directories. */
  readonly admitted = new Set(['disk', 'another disk']);
  /** Of who is to wait. */
  waiting = '';
  refusal: Extract<Verdict, { type: 'refused' }> = {
    type: 'refused',
    reason: 'NOT_ADMITTED: no',
    problem: 'no member',
  };
  readonly listener: PeerListener;
  readonly #options;

  constructor() {
    const setTimer = (_delayMs: number, run: () => void): Timer => {
      const timer = { run, cancelled: false };
      this.timers.push(timer);
      return { cancel: () => (timer.cancelled = true) };
    };
    const logger: Logger = { ...silentLogger, warn: (fields) => this.lines.push(fields) };
    const clock = { monotonicMs: () => this.nowMs, wallMs: () => 0, setTimer, afterPoll: (run: () => void) => run() };
    this.listener = new PeerListener(
      {
        clusterId: 'c',
        id: serverId(1),
        timing: TIMING,
        secrets: () => ({ provenBy: [OWN_SECRET], knownBy: [OWN_SECRET] }),
        secretOf: () => '',
        incarnationOf: () => '',
        admission: (candidate) => {
          const { incarnation } = candidate;
          if (incarnation === this.waiting) return { type: 'waits' };
          if (!this.admitted.has(incarnation) || !candidate.proves(incarnation)) return this.refusal;
          return { type: 'admitted', standing: 'member', incarnation };
        },
      },
      {
        accepted: (peer) => this.events.push(`accepted ${peer}`),
        frame: (from) => this.events.push(`frame of ${from}`),
        closed: (peer) => this.events.push(`closed ${peer}`),
        snapshot: (from) => {
          this.events.push(`snapshot of ${from}`);
          return {
            frame: () => this.events.push(`piece of ${from}`),
            close: () => this.events.push(`end of the snapshot of ${from}`),
          };
        },
        waits: (peer) => this.events.push(`${peer} waits`),
        expel: ({ from }, { expulsion }) => this.events.push(`expel ${from}: ${expulsion}`),
        expelled: ({ from, knowsUs }) => this.events.push(`expelled by ${from}, which knows us: ${knowsUs}`),
      },
      { clock, logger, random: { next: () => 0.5, integer: () => 0, bytes: (n) => new Uint8Array(n) } },
    );
    this.#options = this.listener.listenOptions('s:1');
  }

  connect(): FakeConnection {
    const connection = new FakeConnection();
    this.#options.onConnection(connection);
    return connection;
  }

  /** Up to the proof. `knowing`: by the secret of this server. */
  greet(fields: Partial<PeerHello> = {}, incarnation = 'disk', knowing = false): FakeConnection {
    const connection = this.connect();
    const greeting = new DialledGreeting({
      hello: { ...HELLO, ...fields },
      nonce: new Uint8Array(NONCE_BYTES),
      incarnation,
      secrets: { provenBy: [incarnation], knownBy: [incarnation] },
      peer: { secret: knowing ? OWN_SECRET : '', member: true },
    });
    connection.say(greeting.hello);
    if (connection.heard[0] === undefined) return connection;
    greeting.challengedBy(connection.heard[0]);
    connection.say(greeting.proof);
    return connection;
  }
}

const HELLO: OwnHello = {
  version: PEER_PROTOCOL_VERSION,
  features: 0,
  clusterId: 'c',
  from: serverId(2),
  to: serverId(1),
  clientAddress: 'c:1',
  purpose: 'log',
  required: 0,
  peerAddress: 'p:2',
};

const FRAME = pack([['an item']]);

describe('a peer', () => {
  it('is welcome after its proof, and is heard until its connection closes', () => {
    const scene = new Scene();
    const connection = scene.greet();
    expect(connection.heard.at(-1)).toEqual(encodeWelcome(0));
    expect(connection.admitted).toBe(true);
    expect(scene.listener.incarnation(serverId(2))).toBe('disk');
    connection.say(FRAME);
    connection.destroy();
    expect(scene.events).toEqual(['accepted 2', 'frame of 2', 'closed 2']);
  });

  it('replaces its own older connection', () => {
    const scene = new Scene();
    const older = scene.greet();
    scene.greet().say(FRAME);
    expect(older.open).toBe(false);
    expect(scene.events).toEqual(['accepted 2', 'closed 2', 'accepted 2', 'frame of 2']);
  });

  it('from another data directory is refused as long as the first is connected, and only so long', () => {
    const scene = new Scene();
    const first = scene.greet();
    const second = scene.greet({}, 'another disk');
    expect(second.closedWith).toMatch(/server 2 is connected from another data directory: two use that --id/);
    expect(first.open).toBe(true);
    first.say(FRAME);
    expect(scene.events).toEqual(['accepted 2', 'frame of 2']);
    first.destroy();
    expect(scene.greet({}, 'another disk').open).toBe(true);
  });

  it('waits, unheard, for what the link to its address shows', () => {
    const scene = new Scene();
    scene.waiting = 'disk';
    const connection = scene.greet();
    expect(connection.heard).toHaveLength(1);
    scene.listener.shown(serverId(3));
    expect(scene.events).toEqual(['2 waits']);
    scene.waiting = '';
    scene.listener.shown(serverId(2));
    expect(connection.heard.at(-1)).toEqual(encodeWelcome(0));
    expect(scene.events).toEqual(['2 waits', 'accepted 2']);
  });

  it('that speaks before its welcome loses its connection', () => {
    const scene = new Scene();
    scene.waiting = 'disk';
    const connection = scene.greet();
    connection.say(FRAME);
    expect(connection.closedWith).toBe('malformed hello');
  });
});

describe('a connection for a snapshot', () => {
  it("is heard beside the peer's own connection, and replaces none", () => {
    const scene = new Scene();
    const own = scene.greet();
    const first = scene.greet({ purpose: 'snapshot' });
    first.say(FRAME);
    own.say(FRAME);
    first.destroy();
    expect(own.open).toBe(true);
    expect(scene.events).toEqual([
      'accepted 2',
      'snapshot of 2',
      'piece of 2',
      'frame of 2',
      'end of the snapshot of 2',
    ]);
  });
});

describe('a connection for an expulsion', () => {
  it('says its word once, and whether the speaker knows this server', () => {
    const scene = new Scene();
    const own = scene.greet();
    const notice = encodeExpulsion({ expulsion: 'MEMBER_REMOVED', voterSets: [[serverId(2)]] });
    for (const knowing of [false, true]) {
      const connection = scene.greet({ purpose: 'expulsion' }, 'disk', knowing);
      connection.say(notice);
      connection.say(notice);
      expect(connection.open).toBe(false);
    }
    expect(own.open).toBe(true);
    const heard = ['expelled by 2, which knows us: false', 'expelled by 2, which knows us: true'];
    expect(scene.events).toEqual(['accepted 2', ...heard]);
  });
});

describe('a peer that is not admitted any more', () => {
  it('loses its connection, and is called where the configuration has it', () => {
    const scene = new Scene();
    const connection = scene.greet();
    scene.admitted.delete('disk');
    scene.refusal = { ...scene.refusal, reason: 'MEMBER_REMOVED: for good', expulsion: 'MEMBER_REMOVED' };
    scene.listener.admitAgain();
    expect(connection.closedWith).toBe('MEMBER_REMOVED: for good');
    expect(scene.events).toEqual(['accepted 2', 'closed 2', 'expel 2: MEMBER_REMOVED']);
  });
});

describe('a stranger', () => {
  it.each([
    [
      'of another version',
      { version: PEER_PROTOCOL_VERSION + 1 },
      'peer protocol 3 is not 2: run the same version everywhere',
    ],
    [
      'that demands what is unknown here',
      { required: 2 ** 40 + 1 },
      'it demands features that this server does not know (bit 40): upgrade this server',
    ],
    ['that means another server', { to: serverId(3) }, 'another server was meant: check --cluster'],
  ])('%s is told so, nothing of this server, and never heard', (_, fields, reason) => {
    const scene = new Scene();
    const connection = scene.greet(fields);
    expect(connection.closedWith).toBe(reason);
    expect(connection.heard).toEqual([]);
    expect(scene.events).toEqual([]);
  });

  it('of another cluster is told so, nothing of this server, and never heard [join-two-clusters]', () => {
    const scene = new Scene();
    const connection = scene.greet({ clusterId: 'd' });
    expect(connection.closedWith).toBe('this server is of another cluster: check --cluster-id');
    expect(connection.heard).toEqual([]);
    expect(scene.events).toEqual([]);
  });

  it('that proves nothing hears a challenge and the same few words', () => {
    const scene = new Scene();
    const connection = scene.greet({}, 'made up');
    expect(connection.closedWith).toBe('NOT_ADMITTED: no');
    expect(connection.heard).toHaveLength(1);
    expect(connection.admitted).toBe(false);
    const said = Buffer.from(connection.heard[0] ?? NO_BYTES).toString('latin1');
    expect(said).not.toContain(OWN_SECRET);
    expect(scene.events).toEqual([]);
  });

  it('that repeats what a peer has said proves nothing by it: the challenge is another one', () => {
    const scene = new Scene();
    const connection = scene.connect();
    connection.say(encodeHello({ ...HELLO, nonce: new Uint8Array(NONCE_BYTES), echo: NO_BYTES }));
    const { ownProofs } = decodeChallenge(connection.heard[0] ?? NO_BYTES);
    // A proof of this side is none of the other.
    connection.say(encodeProof({ incarnation: 'disk', ownProofs, yourProof: NO_BYTES }));
    expect(connection.closedWith).toBe('NOT_ADMITTED: no');
  });

  it('that says no hello is refused at its first frame, or when its time is over', () => {
    const scene = new Scene();
    const loud = scene.connect();
    loud.say(FRAME);
    expect(loud.closedWith).toBe('malformed hello');
    const silent = scene.connect();
    scene.timers.at(-1)?.run();
    expect(silent.closedWith).toBe('no hello in time');
    expect(scene.events).toEqual([]);
  });

  it('that comes with many others keeps no peer out: the oldest of them goes', () => {
    const scene = new Scene();
    const strangers = Array.from({ length: MAX_UNGREETED_PEERS + 3 }, () => scene.connect());
    expect(strangers.map(({ open }) => open).indexOf(true)).toBe(3);
    expect(scene.greet().heard.at(-1)).toEqual(encodeWelcome(0));
    expect(scene.events).toEqual(['accepted 2']);
  });
});

describe('ten thousand malformed hellos', () => {
  it('make a few lines without a stack, and the last of them tells how many there were', () => {
    const scene = new Scene();
    for (let n = 0; n < 10_000; n += 1) scene.connect().say(FRAME);
    scene.nowMs = 1_000;
    for (const { run, cancelled } of scene.timers.splice(0)) if (!cancelled) run();
    expect(scene.lines).toEqual([
      expect.objectContaining({ reason: 'malformed hello', remoteAddress: 'peer:1' }),
      { reason: 'malformed hello', remoteAddress: 'peer', count: 9_999 },
    ]);
    expect(JSON.stringify(scene.lines)).not.toContain('stack');
    expect(JSON.stringify(scene.lines).length).toBeLessThan(500);
  });
});

describe('a peer that is not heard any more', () => {
  const features = PeerFeature.keepAlive;
  const looks = (scene: Scene, count: number): number[] => Array.from({ length: count }, () => scene.listener.look());

  it('loses its connection after two election timeouts', () => {
    const scene = new Scene();
    const connection = scene.greet({ features });
    expect(connection.heard.at(-1)).toEqual(encodeWelcome(features));
    expect(looks(scene, TIMING.silentLooks - 1)).not.toContain(1);
    expect(scene.listener.look()).toBe(1);
    expect(connection.open).toBe(false);
    expect(scene.listener.hears(serverId(2))).toBe(false);
    expect(scene.events).toEqual(['accepted 2', 'closed 2']);
    expect(scene.lines).toMatchObject([{ peer: 2, silentMs: 2_000 }]);
  });

  it('keeps it while it says anything, be it an empty frame, which nobody else hears of', () => {
    const scene = new Scene();
    const connection = scene.greet({ features });
    for (let round = 0; round < 10; round += 1) {
      expect(looks(scene, TIMING.silentLooks - 1)).not.toContain(1);
      connection.say(pack([]));
    }
    expect(connection.open).toBe(true);
    expect(scene.events).toEqual(['accepted 2']);
  });

  it('keeps it when it is of a version that says nothing when there is nothing to say, and is told nothing there', () => {
    const scene = new Scene();
    const connection = scene.greet();
    const told = connection.heard.length;
    expect(looks(scene, 100)).not.toContain(1);
    expect(connection.open).toBe(true);
    expect(connection.heard).toHaveLength(told);
  });

  it('hears this server meanwhile: an empty frame twice in an election timeout', () => {
    const scene = new Scene();
    const connection = scene.greet({ features });
    const told = connection.heard.length;
    for (let look = 0; look < 8; look += 1) {
      connection.say(FRAME);
      scene.listener.look();
    }
    expect(connection.heard.slice(told).map((frame) => [...frame])).toEqual([[0x90], [0x90], [0x90], [0x90]]);
  });
});
