import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeChallenge, NONCE_BYTES } from '@holdfast/raft';
import type { Connection, Listener } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Effect } from '../../../src/nemeses/target.ts';
import type { Machine } from '../../../src/targets/live/processes/machine.ts';
import { LiveStrangers, type LiveStrangersOptions } from '../../../src/targets/live/strangers/live-strangers.ts';
import { FORGED_TERM } from '../../../src/targets/strangers/forgeries.ts';

const INTRUSION = { server: 1, as: 2, purpose: 'log', hasty: false } as const;
const PROOF = new Uint8Array(32);

let directory: string;
let listener: Listener | undefined;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'live-strangers-'))));
afterEach(async () => {
  await listener?.close();
  rmSync(directory, { recursive: true });
});

/** A server that answers each frame of a stranger so; and the strangers at its port. */
async function serverThat(
  answer: (connection: Connection, frames: number) => void,
  options: Partial<LiveStrangersOptions> = {},
) {
  let frames = 0;
  listener = await nodeRuntime().network.listen({
    address: '127.0.0.1:0',
    maxFrameBytes: 1_000_000,
    onConnection: (connection) => {
      connection.setHandler({ frame: () => answer(connection, (frames += 1)), close: () => {} });
    },
  });
  const { address } = listener;
  const counted: Effect[] = [];
  const failures: string[] = [];
  const strangers = new LiveStrangers({
    ids: [1, 2],
    clientAddress: () => address,
    peerAddress: () => address,
    inside: () => [],
    standIn: (host) => host,
    machineOn: () => ({ pid: 7 }) as Machine,
    logFile: () => join(directory, 's1.log'),
    count: (effect) => counted.push(effect),
    after: (ms, action) => void setTimeout(action, ms),
    fail: (name, message) => failures.push(`${name}: ${message}`),
    ...options,
  });
  return { strangers, counted, failures };
}

const challenge = (connection: Connection): void => {
  connection.send(
    encodeChallenge({
      nonce: new Uint8Array(NONCE_BYTES),
      ownProofs: [PROOF],
      yourProof: PROOF,
      wantsIncarnation: true,
    }),
  );
};

describe('strangers of a live run', () => {
  it('fail the run when a server welcomes one', async () => {
    const { strangers, failures } = await serverThat((connection, frames) => {
      if (frames === 1) challenge(connection);
      if (frames === 2) connection.send(new Uint8Array([1]));
    });
    void strangers.capability.intrude(INTRUSION);
    await expect
      .poll(() => failures, { timeout: 10_000 })
      .toEqual(['strangers-are-not-heard: server 1 has welcomed a stranger as server 2, for purpose log']);
  });

  it('have struck when the server has written down that it refused one, and not before', async () => {
    let closed = false;
    const { strangers, counted, failures } = await serverThat((connection) => {
      connection.close('NOT_ADMITTED: not known here');
      closed = true;
    });
    void strangers.capability.intrude(INTRUSION);
    await expect.poll(() => closed, { timeout: 10_000 }).toBe(true);
    expect(counted).toEqual([]);
    appendFileSync(join(directory, 's1.log'), '{"level":40,"msg":"refused a peer connection"}\n');
    await expect.poll(() => counted, { timeout: 10_000 }).toEqual(['stranger-refused']);
    expect(failures).toEqual([]);
  });

  it('do not give up whom they have reached while the harness itself was held up', async () => {
    const { strangers, counted } = await serverThat((connection) => {
      connection.close('NOT_ADMITTED: not known here');
      appendFileSync(join(directory, 's1.log'), '{"level":40,"msg":"refused a peer connection"}\n');
    });
    void strangers.capability.intrude(INTRUSION);
    const until = performance.now() + 1_500;
    while (performance.now() < until);
    await expect.poll(() => counted, { timeout: 10_000 }).toEqual(['stranger-refused']);
  });

  it('go to one that still takes part, where the server that they were to trouble has left', async () => {
    const dialled: string[] = [];
    const { strangers } = await serverThat(() => {}, {
      standIn: (host) => (host === 's1' ? 's2' : host),
      clientAddress: (host) => {
        dialled.push(`client ${host}`);
        return '127.0.0.1:1';
      },
      peerAddress: (host) => {
        dialled.push(`peer ${host}`);
        return '127.0.0.1:1';
      },
    });
    void strangers.capability.replay(1);
    void strangers.capability.intrude(INTRUSION);
    await expect.poll(() => dialled).toEqual(['client s2', 'peer s2']);
  });

  it('fail the run when a server comes to a term that only they have named', async () => {
    const { strangers, failures } = await serverThat(() => {});
    strangers.sawTerm('s1', FORGED_TERM - 1);
    expect(failures).toEqual([]);
    strangers.sawTerm('s1', FORGED_TERM);
    expect(failures[0]).toMatch(/^strangers-are-not-heard: s1 has come to term/);
  });

  it('have not taken a port before they are there, unless it is over', async () => {
    const { strangers } = await serverThat(() => {});
    let done = false;
    // The server does not end.
    const taken = Promise.resolve(strangers.capability.takePort(1)).then(() => (done = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(done).toBe(false);
    await strangers.heal();
    await taken;
  });

  it('take no port of a server that runs', async () => {
    const { strangers } = await serverThat(() => {});
    void strangers.capability.takePort(1);
    expect(strangers.hasPort('s1')).toBe(true);
    await strangers.close();
    expect(strangers.hasPort('s1')).toBe(false);
  });
});
