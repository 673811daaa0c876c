/**
 * SIGKILL of some servers, for so long that the others forget the log that these lack: when they start again, a leader must send them a
 * snapshot.
 */

import { hosts } from '../../plan/fields.ts';
import type { Plan } from '../../plan/plan.ts';
import { each } from '../target.ts';
import { nemesis } from '../nemesis.ts';

/** So many snapshots are taken meanwhile: with the first ones the log behind an earlier one may stay. */
const SNAPSHOTS = 3;
/** Of a simulated run, whose servers take snapshots after a few entries. */
const LEAST_MS = 8_000;

export const fallBehind = nemesis({
  kind: 'fall-behind',
  lasts: true,
  fields: { hosts },
  needs: ['processes'],
  oneIn: 20,
  ownStream: true,
  strikes: ['snapshot-installed'],
  draw({ lasting, plan, random, servers, drawn }) {
    const forMs = Math.max(lasting.forMs, snapshotsMs(plan));
    // Two minorities may be a majority.
    if (drawn.some(({ kind, atMs }) => kind === 'fall-behind' && lasting.atMs < atMs + forMs)) return [];
    const first = random.integer(servers.length);
    const minority = Math.floor((servers.length - 1) / 2);
    const struck = Array.from({ length: minority }, (_, n) => servers[(first + n) % servers.length] ?? '');
    return [{ kind: 'fall-behind', atMs: lasting.atMs, forMs, hosts: struck }];
  },
  begin: (fault, { processes }) => each(fault.hosts, (host) => processes.kill(host)),
  end: (fault, { processes }) =>
    each(fault.hosts, (host) => {
      const forgotten = processes.forgotten?.(host);
      return forgotten === undefined ? processes.start(host) : forgotten.then(() => processes.start(host));
    }),
});

/** By the rate at which the clients of a live run write. */
function snapshotsMs({ clients, snapshots }: Plan): number {
  const bytesPerSecond = clients.reduce((sum, { bulkBytesPerSecond = 0 }) => sum + bulkBytesPerSecond, 0);
  if (snapshots === undefined || bytesPerSecond === 0) return LEAST_MS;
  return Math.ceil((1_000 * SNAPSHOTS * (snapshots.logBytes + snapshots.trailingBytes)) / bytesPerSecond);
}
