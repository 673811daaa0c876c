import { createServer, type AddressInfo, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';

import { addressesInUse, freeBasePortAbove } from '../src/free-ports.ts';
import { HIGHEST_BASE_PORT } from '../src/addresses.ts';
import { describeTaken, portOwners } from '../src/port-owners.ts';

async function listening(host: string, port = 0): Promise<number> {
  const server: Server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

describe('who listens on a port', () => {
  it.for(['127.0.0.1', '0.0.0.0'])('is found, on %s', async (host, context) => {
    context.skip(process.platform !== 'linux', 'elsewhere lsof has to be there');
    const port = await listening(host);
    const owner = portOwners([port]).get(port);
    expect(owner?.pid).toBe(process.pid);
    expect(owner?.command).not.toBe('');
    expect(owner?.command.length).toBeLessThanOrEqual(81);
  });

  it('is nobody where nobody listens', async () => {
    const port = await listening('127.0.0.1');
    expect([...portOwners([port + 1, port - 1]).values()].filter(({ pid }) => pid === process.pid)).toEqual([]);
    expect(portOwners([]).size).toBe(0);
  });

  it('is said once for all ports of one process, and left out where it is not known', () => {
    const lockd = { pid: 4711, command: 'node lockd --id 1' };
    const owners = new Map([
      [7101, lockd],
      [7201, lockd],
      [7400, { pid: 12, command: '' }],
    ]);
    const taken = ['127.0.0.1:7101', '127.0.0.1:7102', '127.0.0.1:7201', '127.0.0.1:7400'];
    expect(describeTaken(taken, owners)).toBe(
      '127.0.0.1:7101, 127.0.0.1:7201 are in use by process 4711 (node lockd --id 1); 127.0.0.1:7102 is in use; ' +
        '127.0.0.1:7400 is in use by process 12',
    );
  });
});

describe('the base port that is proposed', () => {
  it('has all ports of such an ensemble free', async () => {
    const port = await listening('127.0.0.1');
    const proposed = await freeBasePortAbove(port - 1_000 - 1, 1);
    if (proposed === undefined) return expect(port).toBeGreaterThan(HIGHEST_BASE_PORT - 10_000);
    expect(proposed).not.toBe(port - 1);
    expect(await addressesInUse(proposed, 1, true)).toEqual([]);
  });

  it('is none beyond the last one', async () => {
    expect(await freeBasePortAbove(HIGHEST_BASE_PORT - 999, 1)).toBeUndefined();
  });
});
