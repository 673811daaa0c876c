/** How many client connections this process may have, given how many files and sockets the system lets it open. */

import { MAX_CONNECTIONS, MIN_CONNECTIONS, RESERVED_DESCRIPTORS } from '../limits.ts';
import { UsageError } from './settings.ts';

export interface ConnectionRoom {
  readonly maxConnections: number;
  /** What an operator should know. */
  readonly warning: string | undefined;
}

const ENOUGH = MAX_CONNECTIONS + RESERVED_DESCRIPTORS;
const REMEDY = `raise it with "ulimit -n ${ENOUGH}" or LimitNOFILE=${ENOUGH}`;

/**
 * `limit`: undefined while unknown.
 * @throws UsageError when there is too little room to serve
 */
export function connectionRoom(limit: number | undefined): ConnectionRoom {
  if (limit === undefined) {
    const assumed = `${MAX_CONNECTIONS} client connections are accepted, for which it must allow ${ENOUGH} open files`;
    return {
      maxConnections: MAX_CONNECTIONS,
      warning: `the system does not say how many files may be open; ${assumed}`,
    };
  }
  const room = limit - RESERVED_DESCRIPTORS;
  if (room < MIN_CONNECTIONS) {
    const needed = `${RESERVED_DESCRIPTORS} are kept for files and other servers, and ${MIN_CONNECTIONS} at least are for clients`;
    throw new UsageError(`this process may have only ${limit} files open (RLIMIT_NOFILE): ${needed}; ${REMEDY}`);
  }
  if (room >= MAX_CONNECTIONS) return { maxConnections: MAX_CONNECTIONS, warning: undefined };
  const problem = `this process may have only ${limit} files open (RLIMIT_NOFILE)`;
  return {
    maxConnections: room,
    warning: `${problem}: ${room} client connections are accepted instead of ${MAX_CONNECTIONS}; for more ${REMEDY}`,
  };
}
