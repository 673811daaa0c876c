import { describe, expect, it } from 'vitest';
import { connectionRoom, descriptorLimit } from '../../src/node/index.ts';

const WISH = { wanted: 20_000, least: 32, reserved: 128, reservedFor: 'files and other servers' };
const ENOUGH = 20_128;

describe('the connections that a server accepts', () => {
  it('are as many as it wants where the system allows enough open files', () => {
    for (const limit of [ENOUGH, Infinity]) {
      expect(connectionRoom(WISH, limit)).toEqual({ type: 'room', maxConnections: 20_000, warning: undefined });
    }
  });

  it('leave descriptors for what else it needs where there are fewer, and a warning says what to raise', () => {
    const room = connectionRoom(WISH, 1_024);
    expect(room).toMatchObject({ type: 'room', maxConnections: 896 });
    expect(room).toMatchObject({
      warning: expect.stringContaining('896 client connections are accepted instead of 20000'),
    });
    expect(room).toMatchObject({ warning: expect.stringContaining(`ulimit -n ${ENOUGH}`) });
  });

  it('are not worth a start where there are next to none', () => {
    expect(connectionRoom(WISH, 128 + 32)).toMatchObject({ type: 'room', maxConnections: 32 });
    expect(connectionRoom(WISH, 128 + 31)).toEqual({
      type: 'no-room',
      problem: expect.stringMatching(/only 159 files.*RLIMIT_NOFILE.*for files and other servers.*ulimit -n 20128/),
    });
  });

  it('are assumed to have room where the system does not say, which is told', () => {
    expect(connectionRoom(WISH, undefined)).toMatchObject({
      type: 'room',
      maxConnections: 20_000,
      warning: expect.stringContaining('does not say'),
    });
  });
});

describe('the open files that the system allows', () => {
  it('are known here', () => {
    expect(descriptorLimit()).toBeGreaterThan(100);
  });
});
