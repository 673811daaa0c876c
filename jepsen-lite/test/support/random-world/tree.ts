/**
 * A stretch of a proper history of nodes: two clients that watch, transactions that move amounts from one node to another, nodes with a time to
 * live, and containers.
 */

import type { HistoryEventBody, Operation, TransactionStep } from '../../../src/history/history.ts';
import type { Around } from './around.ts';

const ACCOUNTS = [0, 1, 2, 3];

export function useTree(around: Around): void {
  watchTogether(around);
  moveAmounts(around);
  leaveUnused(around);
}

/** An amount goes from one account to the next, as often as one likes; now and then nobody is told, or a version is wrong. */
function moveAmounts(around: Around): void {
  const bank = '/bank-0';
  const paths = ACCOUNTS.map((account) => `${bank}/account-${account}`);
  const opened = [bank, ...paths, `${bank}/book`];
  const values = ACCOUNTS.map(() => '100 0');
  const versions = ACCOUNTS.map(() => 0);
  const opening = opened.map(
    (path) => ({ op: 'create', path, value: path.includes('account') ? '100 0' : '' }) as const,
  );
  transact(around, opening, { results: opened });
  let entries = 0;
  const names: string[] = [];
  for (let call = 1; call <= 12; call += 1) {
    const from = around.choose(4);
    const to = (from + 1 + around.choose(3)) % 4;
    const set = (account: number, by: number) => {
      const value = `${Number.parseInt(values[account] ?? '', 10) + by} ${call}`;
      return { op: 'set', path: paths[account] ?? '', value, version: versions[account] ?? 0 } as const;
    };
    const entry = { op: 'create', path: `${bank}/book/e${call}-`, value: '', sequential: true } as const;
    const steps = [entry, set(from, -5), set(to, 5)] as const;
    const fate = around.choose(5);
    if (fate === 0) {
      transact(around, [...steps, { op: 'check', path: bank, version: 9 }], 'BAD_VERSION', 3);
      continue;
    }
    const name = `e${call}-${String(entries).padStart(10, '0')}`;
    const results = [`${bank}/book/${name}`, steps[1].version + 1, steps[2].version + 1];
    if (fate === 1) {
      transact(around, steps, 'TIMEOUT');
      if (around.choose(2) === 0) continue;
    } else transact(around, steps, { results });
    for (const [account, { value }] of [
      [from, steps[1]],
      [to, steps[2]],
    ] as const) {
      values[account] = value;
      versions[account] = (versions[account] ?? 0) + 1;
    }
    entries += 1;
    names.push(name);
  }
  const checks = paths.map((path, account) => ({ op: 'check', path, version: versions[account] ?? 0 }) as const);
  transact(around, checks, { results: [null, null, null, null] });
  for (const [account, path] of paths.entries()) {
    const [value, version] = [values[account] ?? '', versions[account] ?? 0];
    done(around, { f: 'read', path, consistency: 'linearizable' }, { value, version });
  }
  done(around, { f: 'list', path: `${bank}/book` }, { names });
}

function transact(
  around: Around,
  operations: readonly TransactionStep[],
  outcome: object | string,
  place?: number,
): void {
  const operation = { f: 'transaction', operations } as const;
  const index = around.nextIndex();
  if (typeof outcome === 'object') done(around, operation, { index, ...outcome });
  else
    done(around, operation, { type: outcome === 'TIMEOUT' ? 'info' : 'fail', code: outcome, ...(place && { place }) });
}

/** A node with a time to live and a container, with children and without, until they are gone; and a container that was never used. */
function leaveUnused(around: Around): void {
  for (const parent of ['/limited', '/containers']) {
    const path = `${parent}/n1`;
    const kind = parent === '/limited' ? { ttlMs: 1_000 } : ({ container: true } as const);
    done(around, { f: 'create', path, value: '1', ...kind });
    done(around, { f: 'create', path: `${path}/c2`, value: '' });
    around.pass(3_000);
    done(around, { f: 'read', path, consistency: 'linearizable' }, { value: '1', version: 0 });
    done(around, { f: 'delete', path: `${path}/c2` });
    around.pass(1_500);
    done(around, { f: 'create', path: `${path}/c3`, value: '' }, { type: 'fail', code: 'NOT_FOUND' });
  }
  done(around, { f: 'create', path: '/containers/n2', value: '2', container: true });
  around.pass(60_000);
  done(around, { f: 'read', path: '/containers/n2', consistency: 'linearizable' }, { value: '2', version: 0 });
}

function done(around: Around, operation: Operation, result: object = {}): void {
  const call = around.nextCall();
  for (const body of [{ type: 'invoke' }, { type: 'ok', ...result }]) {
    around.record('u1', { call, ...operation, ...body } as HistoryEventBody);
  }
}

/** Two clients watch the same nodes; one of them misses a part, and says so. */
function watchTogether(around: Around): void {
  const path = '/watched/n0';
  const record = (watch: number, event: 'started' | 'changed' | 'resync' | 'left', index: number): void => {
    const gap = event === 'resync' ? { from: index - 10 } : {};
    around.record(`w${watch}`, { type: 'watched', watch, event, path, index, ...gap });
  };
  for (const watch of [1, 2]) record(watch, 'started', 100);
  for (let index = 101; index <= 120; index += 1) {
    record(1, 'changed', index);
    if (index <= 105 || index > 115) record(2, 'changed', index);
    if (index === 115) record(2, 'resync', index);
    around.record('w1', { type: 'shown', by: 'read', path, index });
  }
  for (const watch of [1, 2]) record(watch, 'left', 120);
}
