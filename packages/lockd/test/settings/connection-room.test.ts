import { descriptorLimit } from '@holdfast/runtime/node';
import { describe, expect, it } from 'vitest';
import { MAX_CONNECTIONS, MIN_CONNECTIONS, RESERVED_DESCRIPTORS } from '../../src/limits.ts';
import { connectionRoom } from '../../src/settings/connection-room.ts';

const ENOUGH = MAX_CONNECTIONS + RESERVED_DESCRIPTORS;

describe('the connections that a server accepts', () => {
  it('are as many as it may have where the system allows enough open files', () => {
    for (const limit of [ENOUGH, Infinity]) {
      expect(connectionRoom(limit)).toEqual({ maxConnections: MAX_CONNECTIONS, warning: undefined });
    }
  });

  it('leave descriptors for files and peers where it allows fewer, and a warning says what to raise', () => {
    const { maxConnections, warning } = connectionRoom(1_024);
    expect(maxConnections).toBe(1_024 - RESERVED_DESCRIPTORS);
    expect(warning).toContain(`${maxConnections} client connections are accepted instead of ${MAX_CONNECTIONS}`);
    expect(warning).toContain(`ulimit -n ${ENOUGH}`);
  });

  it('are not worth a start where there are next to none', () => {
    expect(connectionRoom(RESERVED_DESCRIPTORS + MIN_CONNECTIONS).maxConnections).toBe(MIN_CONNECTIONS);
    expect(() => connectionRoom(RESERVED_DESCRIPTORS + MIN_CONNECTIONS - 1)).toThrow(/RLIMIT_NOFILE.*ulimit -n/);
  });

  it('are assumed to have room where the system does not say, which is told', () => {
    expect(connectionRoom(undefined)).toMatchObject({ maxConnections: MAX_CONNECTIONS });
    expect(connectionRoom(undefined).warning).toContain('does not say');
  });
});

describe('the open files that the system allows', () => {
  it('are known here', () => {
    expect(descriptorLimit()).toBeGreaterThan(100);
  });
});
