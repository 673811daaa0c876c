/** A world of a server that listens and a client that dials it, with what each has heard. */

import type { Connection } from '../../../src/index.ts';
import { SimWorld } from '../../../src/sim/index.ts';
import type { SimHost, StruckFault } from '../../../src/sim/index.ts';

export interface TwoHosts {
  readonly world: SimWorld;
  readonly server: SimHost;
  readonly client: SimHost;
  /** The server's ends of the connections, in the order in which they were accepted. */
  readonly accepted: readonly Connection[];
  /** What the server has heard on all of them. */
  readonly heard: readonly string[];
  readonly dial: (options?: { from?: SimHost; timeoutMs?: number }) => Promise<Connection>;
  readonly struck: (fault: StruckFault) => number;
}

export async function twoHosts(seed: number | string = 1): Promise<TwoHosts> {
  const world = new SimWorld({ seed });
  const server = world.host('server');
  const client = world.host('client');
  const accepted: Connection[] = [];
  const heard: string[] = [];
  await world.complete(
    server.runtime.network.listen({
      address: 'server:7101',
      maxFrameBytes: 1_000,
      onConnection: (connection) => {
        accepted.push(connection);
        listenTo(connection, heard);
      },
      http: ({ target }) => Promise.resolve({ status: 200, contentType: 'text/plain', body: target }),
    }),
  );
  const dial: TwoHosts['dial'] = ({ from = client, timeoutMs = 1_000 } = {}) =>
    from.runtime.network.dial({ address: 'server:7101', timeoutMs, maxFrameBytes: 1_000 });
  return { world, server, client, accepted, heard, dial, struck: (fault) => world.struck.get(fault) ?? -1 };
}

/** Frames as their bytes, and the end as `closed: reason`. */
export function listenTo(connection: Connection, heard: string[] = []): string[] {
  connection.setHandler({
    frame: (bytes) => void heard.push(bytes.join()),
    close: (reason) => void heard.push(`closed: ${reason}`),
  });
  return heard;
}
