/**
 * Following a group in its ensemble: where its replicas answer, and who is primary. Both are known before anybody has asked a replica.
 */

import { FencedKvError, GroupNotFoundError } from './errors.ts';
import { isHttp } from './servers.ts';
import type { GroupServers } from './servers.ts';

/** What is needed of a client of the ensemble: its `nodes` are such. */
export interface GroupNodes {
  get(path: string): Promise<{ readonly data: Uint8Array }>;
  children(path: string): Promise<{ readonly names: readonly string[] }>;
  watch(
    path: string,
    options: { readonly recursive: true; readonly onMissed: 'resync'; readonly signal: AbortSignal },
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
  const root = `/fenced-kv/${group}`;
  const look = async (): Promise<void> => {
    const found = await lookUp(nodes, root);
    if (signal.aborted) return;
    if (found === undefined) {
      servers.absent(new GroupNotFoundError(group));
      return;
    }
    const { epoch, primary, urls } = found;
    servers.absent(urls.size > 0 ? undefined : unregistered(group));
    servers.registered([...urls.values()]);
    const named = urls.get(primary);
    if (named !== undefined && epoch > 0) servers.told(named, epoch);
  };
  while (!signal.aborted) {
    try {
      const events = nodes.watch(root, { recursive: true, onMissed: 'resync', signal });
      await events.started;
      await look();
      for await (const _event of events) await look();
    } catch (error) {
      // The client of the ensemble says to its owner what is wrong with it; a call that knows no address says so, too.
      if (!signal.aborted) servers.absent(unanswered(group, error));
    }
    if (!signal.aborted) await pause(signal);
  }
  servers.absent(new FencedKvError('CLOSED', 'this FencedKv was closed before it knew an address of its group'));
}

interface FoundGroup {
  readonly epoch: number;
  readonly primary: string;
  /** Of every replica that has ever registered. */
  readonly urls: ReadonlyMap<string, string>;
}

/** Undefined: nobody has made the group. Rejects as the nodes do. */
async function lookUp(nodes: GroupNodes, root: string): Promise<FoundGroup | undefined> {
  const configuration = await unlessMissing(async () => await nodes.get(`${root}/configuration`));
  if (configuration === undefined) return undefined;
  const { epoch, primary } = parse(configuration.data);
  const replicas = await unlessMissing(async () => await nodes.children(`${root}/replicas`));
  const urls = new Map<string, string>();
  for (const id of replicas?.names ?? []) {
    const replica = await unlessMissing(async () => await nodes.get(`${root}/replicas/${id}`));
    const url = replica === undefined ? undefined : urlIn(replica.data);
    if (url !== undefined) urls.set(id, url);
  }
  return {
    epoch: typeof epoch === 'number' ? epoch : 0,
    primary: typeof primary === 'string' ? primary : '',
    urls,
  };
}

async function unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function unregistered(group: string): FencedKvError {
  return new FencedKvError('CONNECTION', `no replica of group "${group}" has told the ensemble its address yet`, {
    retryable: true,
  });
}

function unanswered(group: string, cause: unknown): FencedKvError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new FencedKvError(
    'CONNECTION',
    `the ensemble was asked for the replicas of group "${group}" in vain: ${why}`,
    {
      cause,
      retryable: true,
    },
  );
}

/** What cannot be read is no replica of this version, and is in nobody's way. */
function urlIn(data: Uint8Array): string | undefined {
  try {
    const { url } = parse(data);
    return typeof url === 'string' && isHttp(url) ? url : undefined;
  } catch {
    return undefined;
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
