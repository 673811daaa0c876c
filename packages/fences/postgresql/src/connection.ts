/** A connection of the pool for one call. One on which anything is unclear is destroyed, and the server rolls back what was open on it. */

import type { Pool, PoolClient } from 'pg';
import type { Cutoff } from './cutoff.ts';
import { invalid } from './options.ts';

export interface Connection {
  readonly client: PoolClient;
  /** SQLSTATEs of the warnings so far. */
  readonly warnings: readonly string[];
  /** The socket's end, if it has come. */
  readonly lost: () => Error | undefined;
  /** @param reusable no transaction is open on it */
  close(reusable: boolean): void;
}

/** Rejects with ABORTED when a signal comes first; a connection that comes later goes back. */
export async function openConnection(pool: Pool, cutoff: Cutoff): Promise<Connection> {
  const connecting = pool.connect();
  let client: PoolClient;
  try {
    client = await cutoff.race(connecting);
  } catch (error) {
    connecting.then(
      (late) => late.release(),
      () => undefined,
    );
    throw error;
  }
  // Of JavaScript anything may come.
  if (typeof (client as Partial<PoolClient> | undefined)?.release !== 'function') {
    throw invalid('the pool gave no client with release(): pass a Pool of pg');
  }
  return connectionOf(client);
}

function connectionOf(client: PoolClient): Connection {
  const warnings: string[] = [];
  let lost: Error | undefined;
  const onNotice = ({ code }: { readonly code?: string | undefined }): void => void warnings.push(code ?? '');
  // Without a listener the end of an idle connection ends the process.
  const onError = (error: Error): void => {
    lost ??= error;
  };
  client.on('notice', onNotice);
  client.on('error', onError);
  return {
    client,
    warnings,
    lost: () => lost,
    close: (reusable) => {
      client.off('notice', onNotice);
      const destroyed = !reusable || lost !== undefined;
      if (!destroyed) client.off('error', onError);
      client.release(destroyed);
    },
  };
}
