/** What a large transaction costs, beside the same commands one by one: by that much it holds up whatever comes behind it. */

import { describe, expect, it } from 'vitest';

import { operation, Solo, type SoloSession } from '../support/solo.ts';

const PATHS = Array.from({ length: 10_000 }, (_, n) => `/jobs/job-${String(n).padStart(6, '0')}`);
/** The first ones are slow, before the functions are compiled; all are, on a machine that is busy with something else. */
const MAX_ROUNDS = 20;
/** Some 0.6. With its directory looked for anew for each operation, and a set for what goes, it was 0.9. */
const MAX_SHARE = 0.8;

function cpuUs(work: () => void): number {
  const begin = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(begin);
  return user + system;
}

function fill(session: SoloSession): void {
  session.done(PATHS.map((path) => operation.create(path, { data: '' })));
  session.ackedUpTo = session.number;
}

/** Entries of the next commands, to be applied later. */
function entries(session: SoloSession, commands: readonly Parameters<SoloSession['entry']>[0][]): Uint8Array[] {
  return commands.map((command) => {
    session.ackedUpTo = session.number;
    session.number += 1;
    return session.entry(command, session.number);
  });
}

describe('a transaction of very many deletes', () => {
  it('takes less than the deletes one by one', () => {
    const solo = new Solo().raise();
    const session = solo.open();
    session.made('/jobs');
    let [together, apart] = [Infinity, Infinity];
    for (let round = 0; round < MAX_ROUNDS && together >= MAX_SHARE * apart; round += 1) {
      fill(session);
      const operations = PATHS.map((path) => operation.delete(path));
      const one = entries(session, [{ type: 'transaction', operations }]);
      together = Math.min(
        together,
        cpuUs(() => one.forEach((entry) => solo.apply(entry))),
      );
      fill(session);
      const each = entries(
        session,
        PATHS.map((path) => ({ type: 'delete', path, version: -1 })),
      );
      apart = Math.min(
        apart,
        cpuUs(() => each.forEach((entry) => solo.apply(entry))),
      );
      expect(solo.ask({ type: 'children', path: '/jobs' }).names).toEqual([]);
    }
    expect(together / apart).toBeLessThan(MAX_SHARE);
  });
});
