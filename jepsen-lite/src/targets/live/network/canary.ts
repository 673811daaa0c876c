/**
 * A canary on every host: a tiny process that echoes, and that dials the others when it is asked. Once everything has healed, every link
 * must carry again, both ways; a link that does not is the run's failure. So much is sent that one which is narrow still is noticed, too.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { LiveNetwork } from './live-network.ts';

export const CANARY_PORT = 7001;
/** Takes the widest link that a fault makes narrow longer than a canary has. */
const PAYLOAD_BYTES = 64 * 1024;

/** What each canary runs: plain text, so that it starts at once and needs no file. */
const PROGRAM = `
const net = require('node:net');
const { createInterface } = require('node:readline');
const [host, port] = process.argv[1].split(':');
net.createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(Number(port), host, () => console.log('ready'));
const ask = (address, ms) => new Promise((resolve) => {
  const [host, port] = address.split(':');
  const socket = net.connect({ host, port: Number(port) });
  const end = (carries) => { clearTimeout(timer); socket.destroy(); resolve(carries); };
  const timer = setTimeout(() => end(false), ms);
  let left = ${PAYLOAD_BYTES};
  socket.on('error', () => end(false)).on('connect', () => socket.write(Buffer.alloc(left)));
  socket.on('data', (bytes) => (left -= bytes.length) <= 0 && end(true));
});
const lines = createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  const { addresses, ms } = JSON.parse(line);
  console.log(JSON.stringify(await Promise.all(addresses.map((address) => ask(address, ms)))));
});
lines.on('close', () => process.exit());
`;

const ANSWER_SLACK_MS = 2_000;

interface Canary {
  readonly host: string;
  readonly child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };
  /** The next line that it prints; undefined when none comes. */
  next(ms: number): Promise<string | undefined>;
}

export class Canaries {
  readonly #network: LiveNetwork;
  readonly #canaries: readonly Canary[];

  private constructor(network: LiveNetwork, canaries: readonly Canary[]) {
    this.#network = network;
    this.#canaries = canaries;
  }

  static async start(network: LiveNetwork, hosts: readonly string[]): Promise<Canaries> {
    const canaries = hosts.map((host) => launch(network, host));
    const started = new Canaries(network, canaries);
    const ready = await Promise.all(canaries.map((canary) => canary.next(10_000)));
    const silent = canaries.filter((_, n) => ready[n] !== 'ready').map(({ host }) => host);
    if (silent.length === 0) return started;
    started.close();
    throw new Error(`the canary of ${silent.join(', ')} did not start`);
  }

  /** The links that do not carry within `ms`, of all ordered pairs. */
  async silent(ms: number): Promise<(readonly [string, string])[]> {
    const found = await Promise.all(
      this.#canaries.map(async ({ host, child, ...canary }) => {
        const others = this.#canaries.filter((other) => other.host !== host).map((other) => other.host);
        const addresses = others.map((other) => this.#network.address(other, CANARY_PORT));
        child.stdin.write(`${JSON.stringify({ addresses, ms })}\n`);
        const answer = await canary.next(ms + ANSWER_SLACK_MS);
        const carries = answer === undefined ? [] : (JSON.parse(answer) as readonly boolean[]);
        return others.filter((_, n) => carries[n] !== true).map((other) => [host, other] as const);
      }),
    );
    return found.flat();
  }

  close(): void {
    for (const { child } of this.#canaries) {
      child.stdin.end();
      child.kill('SIGKILL');
    }
  }
}

function launch(network: LiveNetwork, host: string): Canary {
  const address = network.address(host, CANARY_PORT);
  const [command, ...args] = [...network.inside(host), process.execPath, '-e', PROGRAM, address];
  const env = network.environment(host, process.env);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true, env }) as Canary['child'];
  child.stdin.on('error', () => undefined);
  const lines: string[] = [];
  let heard: (() => void) | undefined;
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    heard?.();
  });
  return {
    host,
    child,
    async next(ms) {
      if (lines.length === 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          heard = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      return lines.shift();
    },
  };
}
