import { CommandType, CreateMode, encodeAttachRequest, encodeCommand } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import type { SessionOutput } from '../../src/port/client-channel.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';

/** A client of a front that has no protocol: calls, and what they are answered. */
function frontClient(ensemble: LoopbackEnsemble, server: number) {
  const { port } = ensemble.server(server).machine;
  const heard: SessionOutput[] = [];
  const goodbyes: string[] = [];
  const channel = {
    remoteAddress: 'other-protocol:1',
    open: true,
    unreadBytes: 0,
    isBehind: false,
    hearsOfHolds: false,
    send: (output: SessionOutput) => void heard.push(output),
    goodbye: (code: string) => {
      goodbyes.push(code);
      leave();
    },
  };
  const client = port.open(channel);
  const leave = (): void => {
    channel.open = false;
    port.close(client);
  };
  const attach = (): void => {
    const request = { secret: new Uint8Array(16).fill(7), session: 0, timeoutMs: 5_000, label: 'other' };
    port.attach(client, 1, encodeAttachRequest(request));
    ensemble.clock.runChecks();
  };
  return { port, client, heard, goodbyes, attach, leave };
}

describe('a client of another front', () => {
  it('attaches, takes a lock, reads and renews over the same port as one of the native front', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { port, client, heard, attach } = frontClient(ensemble, 2);
    expect(port.admit(client)).toBeUndefined();
    attach();
    expect(heard.splice(0)).toMatchObject([{ type: 'attached', id: 1, reply: { type: 'attached' } }]);
    const payload = encodeCommand({
      type: 'create',
      path: '/n',
      data: new Uint8Array(2),
      mode: CreateMode.ephemeral,
    });
    port.request(client, { number: 1, ackedUpTo: 0, command: CommandType.create, payload });
    ensemble.clock.runChecks();
    expect(heard.splice(0)).toMatchObject([{ type: 'reply', number: 1 }]);
    port.read(client, { id: 2, consistency: 'linearizable', minIndex: 0, query: { type: 'get', path: '/n' } });
    port.renew(client, 3);
    ensemble.clock.runChecks();
    expect(
      heard
        .splice(0)
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(['answer', 'renewed']);
    const native = ensemble.server(1).connect();
    native.read(9, { type: 'exists', path: '/n' });
    ensemble.clock.runChecks();
    expect(native.take()).toMatchObject([{ type: 'answer', id: 9, answer: { type: 'exists' } }]);
  });

  it('hears the end of its session last, and serves none any more when another front has it', () => {
    const ensemble = new LoopbackEnsemble(1);
    ensemble.elect(1);
    const first = frontClient(ensemble, 1);
    first.attach();
    const second = frontClient(ensemble, 1);
    second.attach();
    expect(first.goodbyes).toEqual(['SESSION_MOVED']);
    expect([first.client.session, ensemble.server(1).machine.clients.boundSessions]).toEqual([0, 1]);
    second.leave();
    expect(ensemble.server(1).machine.clients.boundSessions).toBe(0);
  });

  it('is sent away for a request without a session', () => {
    const ensemble = new LoopbackEnsemble(1);
    ensemble.elect(1);
    const { port, client, goodbyes } = frontClient(ensemble, 1);
    port.request(client, { number: 1, ackedUpTo: 0, command: CommandType.delete, payload: new Uint8Array() });
    expect(goodbyes).toEqual(['MALFORMED']);
  });
});
