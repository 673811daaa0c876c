/** Following the configuration of a group in its ensemble: who becomes primary is known before anybody has asked a replica. */

import type { GroupServers } from './servers.ts';

/** What is needed of a client of the ensemble: its `nodes` are such. */
export interface GroupNodes {
  get(path: string): Promise<{ readonly data: Uint8Array }>;
  watch(
    path: string,
    options: { readonly onMissed: 'resync'; readonly signal: AbortSignal },
  ): AsyncIterable<unknown> & { readonly started: Promise<unknown> };
}

export interface FollowOptions {
  /** Of a Holdfast client, which the caller keeps open and closes: `client.nodes`. */
  readonly nodes: GroupNodes;
  /** What the replicas were given with `--replica-of`. */
  readonly group: string;
}

const RETRY_MS = 1_000;

/** Until the signal aborts. Failures are tried again: without it, the replicas tell. Never rejects. */
export async function followGroup(
  servers: GroupServers,
  { nodes, group }: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const path = `/fenced-kv/${group}/configuration`;
  const look = async (): Promise<void> => {
    const { epoch, primary } = parse((await nodes.get(path)).data);
    if (typeof epoch !== 'number' || typeof primary !== 'string' || epoch === 0) return;
    const { url } = parse((await nodes.get(`/fenced-kv/${group}/replicas/${primary}`)).data);
    if (typeof url === 'string' && !signal.aborted) servers.told(url, epoch);
  };
  while (!signal.aborted) {
    try {
      const events = nodes.watch(path, { onMissed: 'resync', signal });
      await events.started;
      await look();
      for await (const _event of events) await look();
    } catch {
      // The client of the ensemble says to its owner what is wrong with it.
    }
    if (!signal.aborted) await pause(signal);
  }
}

function parse(data: Uint8Array): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(new TextDecoder().decode(data));
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, RETRY_MS);
    // It keeps no process alive.
    timer.unref();
    signal.addEventListener('abort', done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
