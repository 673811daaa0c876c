/** How many connections a server may have, given how many files and sockets the system lets its process open. */

export interface ConnectionWish {
  /** As many are accepted where there is room. */
  readonly wanted: number;
  /** With fewer a start is not worth it. */
  readonly least: number;
  /** Descriptors that connections cannot take, and what they are for, as in "files and other servers". */
  readonly reserved: number;
  readonly reservedFor: string;
}

export type ConnectionRoom =
  /** `warning`: what an operator should know. */
  | { readonly type: 'room'; readonly maxConnections: number; readonly warning: string | undefined }
  | { readonly type: 'no-room'; readonly problem: string };

/** `limit`: of open files; undefined where the system does not say. */
export function connectionRoom(
  { wanted, least, reserved, reservedFor }: ConnectionWish,
  limit: number | undefined,
): ConnectionRoom {
  const enough = wanted + reserved;
  const remedy = `raise it with "ulimit -n ${enough}" or LimitNOFILE=${enough}`;
  if (limit === undefined) {
    const assumed = `${wanted} client connections are accepted, for which it must allow ${enough} open files`;
    const warning = `the system does not say how many files may be open; ${assumed}`;
    return { type: 'room', maxConnections: wanted, warning };
  }
  const problem = `this process may have only ${limit} files open (RLIMIT_NOFILE)`;
  const room = limit - reserved;
  if (room >= wanted) return { type: 'room', maxConnections: wanted, warning: undefined };
  if (room < least) {
    const needed = `${reserved} are kept for ${reservedFor}, and ${least} at least are for clients`;
    return { type: 'no-room', problem: `${problem}: ${needed}; ${remedy}` };
  }
  const warning = `${problem}: ${room} client connections are accepted instead of ${wanted}; for more ${remedy}`;
  return { type: 'room', maxConnections: room, warning };
}
