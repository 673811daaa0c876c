/** Looks at locks at the ensemble, as an operator does: linearizable, and without a session. It is connected to when it is first asked. */

import { connect, connectOperator, HoldfastError, InvalidArgumentError } from '@holdfast/client';
import type { Client, OperatorClient } from '@holdfast/client';
import type { Logger } from '@holdfast/runtime';

import { AuthorityError } from '../confirmation.ts';
import type { LockAuthority, LockLook } from '../confirmation.ts';
import { LOOK_TIMEOUT_MS } from '../limits.ts';
import { invalidArgument } from '../refusal.ts';

/** A replica tries again after it. */
const CONNECT_TIMEOUT_MS = 5_000;

export interface EnsembleLink extends LockAuthority {
  close(): Promise<void>;
}

/** `servers`: their client addresses. */
export function linkToEnsemble(servers: readonly string[], { logger }: { readonly logger: Logger }): EnsembleLink {
  let connecting: Promise<OperatorClient> | undefined;
  let closed = false;
  const connected = async (): Promise<OperatorClient> => {
    if (closed) throw new AuthorityError('fenced-kvd is stopping; try again later');
    connecting ??= connectOperator({
      servers: [...servers],
      label: 'fenced-kvd',
      failFast: true,
      connectTimeoutMs: LOOK_TIMEOUT_MS,
      requestTimeoutMs: LOOK_TIMEOUT_MS,
      logger,
    });
    try {
      return await connecting;
    } catch (error) {
      connecting = undefined; // whoever asks next tries again
      throw error;
    }
  };
  return {
    async look(lock) {
      try {
        return await lookThrough(await connected(), lock);
      } catch (error) {
        throw lookError(error, lock, servers);
      }
    },
    async close() {
      closed = true;
      const client = await connecting?.catch(() => undefined);
      await client?.close();
    },
  };
}

/** A session for a replica. Rejects with HoldfastError where it cannot be had in a moment. */
export async function connectToEnsemble(
  servers: readonly string[],
  options: { readonly sessionTimeoutMs: number; readonly signal: AbortSignal; readonly logger: Logger },
): Promise<Client> {
  return await connect({
    servers: [...servers],
    label: 'fenced-kvd',
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    ...options,
  });
}

async function lookThrough(client: OperatorClient, lock: string): Promise<LockLook> {
  let index = 0;
  const { holders } = await client.admin.lock(lock, {
    consistency: 'linearizable',
    timeoutMs: LOOK_TIMEOUT_MS,
    onAnswer: (source) => {
      index = source.index;
    },
  });
  const tokens = holders.map(({ token }) => token);
  if (tokens.length > 0) return { held: { lowest: Math.min(...tokens), highest: Math.max(...tokens) }, index };
  if (index > 0) return { held: undefined, index };
  throw new AuthorityError('the ensemble is of a version that does not say how new its answers are; upgrade it');
}

function lookError(error: unknown, lock: string, servers: readonly string[]): unknown {
  if (error instanceof InvalidArgumentError) return invalidArgument('lock', error.message);
  if (!(error instanceof HoldfastError)) return error;
  const what = `lock "${lock}" could not be looked at, at ${servers.join(',')}: ${error.message}`;
  return new AuthorityError(`${what}; writes under tokens that are installed go on`, { cause: error });
}
