import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { RawSession } from '../../src/generator/raw-session.ts';
import { JuteReader, JuteWriter } from '../../src/generator/zookeeper/jute.ts';
import { openZooKeeperSession } from '../../src/generator/zookeeper/zookeeper-session.ts';

const MULTI = 14;
const SET_DATA = 5;
const ERROR = -1;
const NO_NODE = -101;
const INCONSISTENT = -2;

/** A server that accepts the session, and answers everything after that by `answer`; `answer` gets the request behind its length. */
async function zooKeeperOf(answer: (request: JuteReader) => Buffer): Promise<string> {
  const server = createServer((socket: Socket) => {
    let greeted = false;
    socket.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += 4 + bytes.readInt32BE(at)) {
        const request = new JuteReader(bytes, at + 4);
        socket.write(greeted ? answer(request) : new JuteWriter().int(0).int(10_000).long(1n).frame());
        greeted = true;
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Resolves with what the session says of one transaction. */
async function outcome(address: string, nodes: readonly string[]): Promise<string> {
  return await new Promise((resolve) => {
    let opened: RawSession | undefined;
    const over = (text: string): void => {
      opened?.destroy();
      resolve(text);
    };
    const options = { address, sessionTimeoutMs: 10_000, onFailure: (error: Error) => over(error.message) };
    openZooKeeperSession(options, (session) => {
      opened = session;
      session.transaction(nodes, new Uint8Array([1, 2]), () => over('done'));
    });
  });
}

function replyTo(request: JuteReader): JuteWriter {
  return new JuteWriter().int(request.int()).long(9n).int(0);
}

describe('a transaction of ZooKeeper', () => {
  it('is one multi that sets every node', async () => {
    const asked: unknown[] = [];
    const address = await zooKeeperOf((request) => {
      const reply = replyTo(request);
      asked.push(request.int());
      for (let type = request.int(); type !== -1; type = request.int()) {
        request.boolean();
        request.int();
        asked.push([type, request.string(), [...request.buffer()], request.int()]);
        reply.int(SET_DATA).boolean(false).int(0);
      }
      return reply.int(-1).boolean(true).int(-1).frame();
    });
    expect(await outcome(address, ['/a', '/b'])).toBe('done');
    expect(asked).toEqual([MULTI, [SET_DATA, '/a', [1, 2], -1], [SET_DATA, '/b', [1, 2], -1]]);
  });

  it('that failed is no operation done, though the header of its answer has no error', async () => {
    const address = await zooKeeperOf((request) => {
      const reply = replyTo(request);
      for (const error of [INCONSISTENT, NO_NODE]) reply.int(ERROR).boolean(false).int(error).int(error);
      return reply.int(-1).boolean(true).int(-1).frame();
    });
    expect(await outcome(address, ['/a', '/b'])).toBe('ZooKeeper refused an operation of multi with error -101');
  });
});
