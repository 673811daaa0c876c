import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { silentLogger } from '../../src/index.ts';
import { nodeClock, nodeDisk, nodeNetwork } from '../../src/node/index.ts';
import { clockCompliance } from '../compliance/clock.ts';
import { diskCompliance } from '../compliance/disk.ts';
import { networkCompliance } from '../compliance/network.ts';
import { nodeFixture } from './fixture.ts';

clockCompliance('node', async () => ({ ...nodeFixture(), clock: nodeClock() }));

diskCompliance('node', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-disk-'));
  return { ...nodeFixture(() => rm(directory, { recursive: true })), disk: nodeDisk(), directory };
});

networkCompliance('node', async () => {
  const network = nodeNetwork({ logger: silentLogger });
  return {
    ...nodeFixture(),
    server: network,
    client: network,
    anyAddress: '127.0.0.1:0',
    // TEST-NET-1 (RFC 5737): nobody has it.
    foreignAddress: '192.0.2.1:0',
  };
});
