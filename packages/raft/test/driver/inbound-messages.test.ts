import { silentLogger, type Connection } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../src/core/index.ts';
import { InboundMessages } from '../../src/driver/inbound-messages.ts';

const MALFORMED = new Uint8Array([0xc1]);

function scene() {
  const logged: object[] = [];
  const destroyed: string[] = [];
  let timers = 0;
  const inbound = new InboundMessages({
    inbox: { add: () => undefined, wakeUnlessCanWait: () => undefined },
    machine: { peerDisconnected: () => undefined, peersChanged: () => undefined, peerMessage: () => undefined },
    clock: {
      monotonicMs: () => 0,
      setTimer: () => {
        timers += 1;
        return { cancel: () => void (timers -= 1) };
      },
    },
    logger: { ...silentLogger, warn: (fields: object) => void logged.push(fields) },
    knocked: () => undefined,
    wake: () => undefined,
  });
  const from = (address: string): Connection =>
    ({ remoteAddress: address, destroy: () => void destroyed.push(address) }) as unknown as Connection;
  return { inbound, logged, destroyed, from, timers: () => timers };
}

describe('frames of peers that cannot be read', () => {
  it('cost the connection; how many there were is written at the latest when the server stops', () => {
    const { inbound, logged, destroyed, from, timers } = scene();
    for (const port of [1, 2, 3]) inbound.frame(serverId(2), from(`peer:${port}`), MALFORMED);
    expect(destroyed).toEqual(['peer:1', 'peer:2', 'peer:3']);
    const before = logged.length;
    inbound.stop();
    expect(logged.length).toBeGreaterThan(before);
    expect(timers()).toBe(0);
  });
});
