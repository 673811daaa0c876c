import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parseAddress, silentLogger } from '../../src/index.ts';
import { nodeClock, nodeDisk, nodeNetwork } from '../../src/node/index.ts';
import { clockCompliance } from '../compliance/clock.ts';
import { diskCompliance } from '../compliance/disk.ts';
import { httpCompliance, type HttpAnswer, type HttpAsk } from '../compliance/http.ts';
import { networkCompliance } from '../compliance/network.ts';
import { streamCompliance } from '../compliance/streams.ts';
import { nodeFixture } from './fixture.ts';

clockCompliance('node', async () => ({ ...nodeFixture(), clock: nodeClock() }));

diskCompliance('node', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-disk-'));
  return { ...nodeFixture(() => rm(directory, { recursive: true })), disk: nodeDisk(), directory };
});

async function realNetwork() {
  const network = nodeNetwork({ logger: silentLogger });
  return {
    ...nodeFixture(),
    server: network,
    client: network,
    anyAddress: '127.0.0.1:0',
    // TEST-NET-1 (RFC 5737): nobody has it.
    foreignAddress: '192.0.2.1:0',
  };
}

networkCompliance('node', realNetwork);
streamCompliance('node', realNetwork);
httpCompliance('node', async () => ({
  ...(await realNetwork()),
  ask,
  later: (callback) => void setTimeout(callback, 5),
}));

function ask(address: string, { target, method = 'GET', headers = {}, body, piece }: HttpAsk): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const asking = request({ ...parseAddress(address), path: target, method, headers }, (response) => {
      let heard = '';
      const end = (): void => {
        const { statusCode = 0, headers: answered } = response;
        resolve({ status: statusCode, headers: answered as Record<string, string>, body: heard });
      };
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        heard += text;
        if (piece?.(text) !== false) return;
        asking.destroy();
        end();
      });
      response.on('end', end);
      // Whoever has ended it knows.
      response.on('error', () => {});
    });
    asking.on('error', reject);
    asking.end(body);
  });
}
