import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namespaces, namespacesMissing } from '../../../src/targets/live/network/namespaces.ts';
import type { LinkFaults, LiveNetwork } from '../../../src/targets/live/network/live-network.ts';

const missing = namespacesMissing();
if (missing !== undefined) process.stderr.write(`live/resets.test.ts is skipped: ${missing}\n`);
const unless = missing === undefined ? '' : ` (skipped: ${missing})`;

const PORT = 7_000;
/** Each says something all the time, so that both ends meet what is refused. */
const TALK =
  "socket.on('error', (error) => console.log(error.code)); let heard = 0; socket.on('data', () => (heard += 1) === 50 && console.log('heard')); setInterval(() => socket.write('x'), 5);";
const LISTENER = `net.createServer((socket) => { ${TALK} }).listen(${PORT}, () => console.log('listens'))`;
const dialler = (address: string): string =>
  `const [host, port] = '${address}'.split(':'); const socket = net.connect(port, host, () => console.log('connected')); ${TALK}`;

let network: LiveNetwork;
const children: ChildProcess[] = [];

beforeEach(() => {
  if (missing === undefined) network = namespaces(['a', 'b']);
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  if (missing === undefined) network.close();
});

function links(): LinkFaults {
  if (network.links === undefined) throw new Error('links of namespaces can be struck');
  return network.links;
}

/** What it prints. */
function runOn(host: string, program: string): AsyncIterator<string> {
  const [command, ...args] = network.inside(host);
  if (command === undefined) throw new Error('a namespace is entered by a command');
  const child = spawn(command, [...args, process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return (child.stdout.setEncoding('utf8') as AsyncIterable<string>)[Symbol.asyncIterator]();
}

describe.skipIf(missing !== undefined)(`the connections of two hosts${unless}`, () => {
  it('are broken as often as it is asked, also when it is asked while they are, and not after that', async () => {
    const listener = runOn('a', LISTENER);
    expect((await listener.next()).value).toMatch(/listens/);
    const first = runOn('b', dialler(network.address('a', PORT)));
    expect((await first.next()).value).toMatch(/connected/);
    const reset = async (from: string, to: string): Promise<void> => await links().reset(from, to);
    const resets = [reset('a', 'b'), reset('b', 'a'), reset('a', 'b')];
    let said = '';
    while (!/ECONNRESET|EPIPE/.test(said)) said = String((await first.next()).value);
    await Promise.all(resets);
    expect(network.struck().get('connection-broken')).toBeGreaterThan(0);
    const second = runOn('b', dialler(network.address('a', PORT)));
    expect((await second.next()).value).toMatch(/connected/);
    expect((await second.next()).value).toMatch(/heard/);
  });
});
