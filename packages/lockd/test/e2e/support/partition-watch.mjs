// Runs beside the servers of a partition: says when a write was answered, whether each server is connected to all others, and
// whether it is ready.
// Arguments: the client addresses of all servers, in the order of their ids.

import { connect } from '@holdfast/client';

const addresses = process.argv.slice(2);
const say = (news) => process.stdout.write(`${JSON.stringify({ atMs: Date.now(), ...news })}\n`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function write() {
  const client = await connect({ servers: addresses, requestTimeoutMs: 120_000, sessionTimeoutMs: 60_000 });
  for (let number = 0; ; number += 1) {
    await client.nodes.create('/n', 'x', { sequential: true });
    say({ written: number });
    await pause(20);
  }
}

const ask = (address, path) =>
  fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);

async function look(address, n) {
  for (;;) {
    const status = await ask(address, '/status').then((response) => response?.json());
    const ready = (await ask(address, '/ready'))?.status === 200;
    const connected = status?.members.filter((member) => member.connected) ?? [];
    say({ server: n + 1, connected: connected.length === addresses.length, ready });
    await pause(20);
  }
}

await Promise.all([write(), ...addresses.map(look)]);
