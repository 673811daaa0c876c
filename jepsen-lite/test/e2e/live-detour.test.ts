/** The product's way of dialling, in a process whose dials take a detour: it must see of a proxy what it would see of a link. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it, describe } from 'vitest';
import { builtFile } from '../../src/patches/product.ts';
import { DETOUR_VARIABLE, type DetourTable } from '../../src/targets/live/network/proxy/protocol.ts';
import { builtLiveFile } from '../../src/targets/live/processes/built.ts';
import { LinkProxy } from '../../src/targets/live/network/proxy/link-proxy.ts';

const RUNTIME = builtFile('@holdfast/runtime', 'node/index.js').href;

/** Prints what became of its dials, one after another, by the time limit of its own for each. */
const PROGRAM = `
const { connect } = await import('node:net');
const { request } = await import('node:http');
const { nodeNetwork } = await import(${JSON.stringify(RUNTIME)});
const network = nodeNetwork({ logger: console });
for (const address of process.argv.slice(1)) {
  const outcome = await network.dialStream({ address, timeoutMs: 700 }).then(
    (stream) => { stream.close(); return 'connected'; },
    ({ failure }) => failure,
  );
  const [host, port] = address.split(':');
  const plain = await new Promise((resolve) => {
    const socket = connect(Number(port), host, () => { resolve('connected'); socket.destroy(); });
    socket.setTimeout(700, () => { resolve('timeout'); socket.destroy(); });
    socket.on('error', ({ code, syscall, port }) => resolve([code, syscall, port].join(' ')));
  });
  const answer = await new Promise((resolve) => {
    const sent = request({ host, port, timeout: 700 }, (response) => resolve(response.statusCode));
    sent.on('timeout', () => sent.destroy(new Error('timeout'))).on('error', ({ code, message }) => resolve(code ?? message));
    sent.end();
  });
  console.log(JSON.stringify([outcome, plain, answer]));
}
process.exit();
`;

let proxy: LinkProxy;
let server: Server;
let dials: number;

beforeEach(async () => {
  dials = 0;
  proxy = await LinkProxy.open({ struck: () => undefined });
  server = createServer((socket) => {
    dials += 1;
    socket.on('error', () => undefined).on('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  proxy.close();
  server.close();
});

const port = (): number => (server.address() as AddressInfo).port;

/** What the program prints for each address. `hosts`: of the addresses that its host dials by the proxy. */
async function run(addresses: readonly string[], hosts: DetourTable['hosts']): Promise<unknown[]> {
  const table: DetourTable = { from: 'a', proxy: { host: '127.0.0.1', port: proxy.port }, hosts };
  const env = {
    ...process.env,
    NODE_OPTIONS: `--import=${builtLiveFile('network/proxy/detour.js').href}`,
    [DETOUR_VARIABLE]: JSON.stringify(table),
  };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM, ...addresses], {
    env,
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

describe('a detour', () => {
  it('connects as a dial does, and only where its table says so', async () => {
    const address = `127.0.0.1:${port()}`;
    proxy.obey({ act: 'dials', mode: 'refused', from: 'a', to: 'c' });
    expect(await run([address], { [address]: 'b' })).toEqual([['connected', 'connected', 204]]);
    expect(dials).toBe(3);
    expect(await run([address], { '127.0.0.1:1': 'c' })).toEqual([['connected', 'connected', 204]]);
    expect(await run([address], { [address]: 'c' })).toEqual([
      ['refused', `ECONNREFUSED connect ${port()}`, 'ECONNREFUSED'],
    ]);
    expect(dials).toBe(6);
  });

  it('refuses where nobody listens, and hangs where the link does', async () => {
    const [closed, open] = ['127.0.0.1:1', `127.0.0.1:${port()}`];
    proxy.obey({ act: 'dials', mode: 'hanging', from: 'a', to: 'c' });
    expect(await run([closed, open], { [closed]: 'b', [open]: 'c' })).toEqual([
      ['refused', 'ECONNREFUSED connect 1', 'ECONNREFUSED'],
      ['timeout', 'timeout', 'timeout'],
    ]);
    expect(dials).toBe(0);
  });
});
