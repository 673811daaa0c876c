/** A stranger who dials a server as somebody else, with a data directory that is made up, and goes on whatever is answered. */

import { MalformedError } from '@holdfast/protocol';
import { DialledGreeting, NONCE_BYTES, PEER_FEATURES, PEER_PROTOCOL_VERSION, serverId } from '@holdfast/raft';
import type { Connection, Runtime } from '@holdfast/runtime';
import type { Intrusion } from '../../nemeses/target.ts';
import { forgeries } from './forgeries.ts';
import type { Ports } from './ports.ts';

const DIAL_TIMEOUT_MS = 1_000;
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** What it says besides. */
interface Heard {
  /** Purpose `expulsion`: the nonce of a hello of that server, if the stranger has heard one. */
  readonly echo?: Uint8Array;
}

export interface IntruderEvents {
  connected(): void;
  welcomed(): void;
  refused(): void;
}

export function intrude(
  runtime: Runtime,
  ports: Ports,
  intrusion: Intrusion & Heard,
  events: IntruderEvents,
  timeoutMs: number = DIAL_TIMEOUT_MS,
): void {
  runtime.network
    .dial({ address: ports.peerAddress(intrusion.server), timeoutMs, maxFrameBytes: MAX_FRAME_BYTES })
    .then(
      (connection) => converse(connection, runtime, { ports, ...intrusion }, events),
      () => {},
    );
}

function converse(
  connection: Connection,
  { random }: Runtime,
  intrusion: Intrusion & Heard & { readonly ports: Ports },
  events: IntruderEvents,
): void {
  const { server, as, purpose, hasty, echo, ports } = intrusion;
  const madeUp = Buffer.from(random.bytes(16)).toString('hex');
  const greeting = new DialledGreeting({
    hello: {
      version: PEER_PROTOCOL_VERSION,
      features: PEER_FEATURES,
      clusterId: ports.clusterId,
      from: serverId(as),
      to: serverId(server),
      clientAddress: 'stranger:1',
      purpose,
      required: 0,
      peerAddress: 'stranger:2',
      ...(echo === undefined ? {} : { echo }),
    },
    nonce: random.bytes(NONCE_BYTES),
    incarnation: madeUp,
    secrets: { provenBy: [madeUp], knownBy: [madeUp] },
    peer: { secret: '', member: true },
  });
  const forge = (): void => {
    for (const frame of forgeries(purpose, as, random, ports)) connection.send(frame);
  };
  let welcome = false;
  connection.setHandler({
    frame: (frame) => {
      if (greeting.challenged) {
        welcome = true;
        events.welcomed();
        if (!hasty) forge();
        return;
      }
      try {
        greeting.challengedBy(frame);
      } catch (error) {
        if (!(error instanceof MalformedError)) throw error;
        connection.destroy();
        return;
      }
      connection.send(greeting.proof);
      if (hasty) forge();
    },
    close: () => {
      if (!welcome) events.refused();
    },
  });
  events.connected();
  connection.send(greeting.hello);
}
