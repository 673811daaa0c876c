/** A process at a server's peer address, on that server's host, while the server does not run. It ends with its input. */

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { intrude } from '../../strangers/intruder.ts';
import type { Ports } from '../../strangers/ports.ts';
import { usurp } from '../../strangers/usurper.ts';
import { NOBODY, type UsurperOrder, type UsurperReport } from './protocol.ts';

const { server, clusterId, peerAddresses } = JSON.parse(process.argv[2] ?? '') as UsurperOrder;
const runtime = nodeRuntime({ logger: silentLogger });
const ports: Ports = {
  clusterId,
  clientAddress: () => NOBODY,
  peerAddress: (id) => peerAddresses[id] ?? NOBODY,
};

function report(what: UsurperReport): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

process.stdin.on('close', () => process.exit()).resume();
const taken = await usurp(runtime, ports, server, {
  misled({ from, nonce }) {
    report({ type: 'misled', server: from });
    const intrusion = { server: from, as: server, purpose: 'expulsion', hasty: false, echo: nonce } as const;
    intrude(runtime, ports, intrusion, {
      connected: () => {},
      welcomed: () => report({ type: 'forged' }),
      refused: () => {},
    });
  },
});
if (taken) report({ type: 'listens' });
