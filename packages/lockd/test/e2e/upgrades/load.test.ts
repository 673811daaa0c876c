/** The load of the rolling upgrade sees what it is there to see: something lost, or done twice, behind the back of each work. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@holdfast/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess } from '../support/lockd-process.ts';
import { argumentsFor, onePlace, type Place } from '../support/places.ts';
import { Clients } from '../support/upgrade/clients.ts';
import { expectRising } from '../support/upgrade/expectations.ts';
import { UsingTheLatestVersion } from '../support/upgrade/latest-version.ts';
import { UsingLocksOfAllKinds } from '../support/upgrade/lock-kinds.ts';
import { RunningLockctl } from '../support/upgrade/lockctl-work.ts';
import { Counting, HoldingAllTheWhile, Reattaching } from '../support/upgrade/locks.ts';
import { UsingNodesOfAllKinds } from '../support/upgrade/node-kinds.ts';
import { ChangingNodes, Reading } from '../support/upgrade/nodes.ts';
import { ClosedByOperator, ClosedSessions, ExpiringSessions } from '../support/upgrade/sessions.ts';
import { WatchingThroughout } from '../support/upgrade/watches.ts';
import { UpgradeLoad, type Work } from '../support/upgrade/work.ts';

let directory: string;
let place: Place;
let lockd: LockdProcess;
let clients: Clients;
let vandal: Client;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-load-'));
  place = await onePlace();
  lockd = new LockdProcess(argumentsFor(1, [place], directory));
  await lockd.serves();
});

beforeEach(async () => {
  clients = new Clients([`127.0.0.1:${place.client}`]);
  vandal = (await clients.open('vandal')).client;
});

afterEach(() => clients.closeAll());

afterAll(async () => {
  lockd?.kill('SIGKILL');
  await lockd?.ended();
  rmSync(directory, { recursive: true, force: true });
});

interface Damage {
  readonly what: string;
  readonly to: () => Work;
  readonly done: () => Promise<unknown>;
  readonly seenAs: string;
}

const damages: readonly Damage[] = [
  {
    what: 'a write under the lock that is lost',
    to: () => new Counting(),
    done: () => vandal.nodes.set('/upgrade-count', '1'),
    seenAs: 'the count, and how often it was written',
  },
  {
    what: 'a second session of a client that reattached',
    to: () => new Reattaching(),
    done: () => clients.open('reattaching'),
    seenAs: 'the sessions of a client that reattached',
  },
  {
    what: 'a hold that is lost',
    to: () => new HoldingAllTheWhile(),
    done: () => vandal.nodes.delete('/holdfast/locks/upgrade-kept/q-0000000000'),
    seenAs: 'lock "upgrade-kept" is not held any more',
  },
  {
    what: 'a node that is lost',
    to: () => new ChangingNodes(),
    done: () => vandal.nodes.delete('/upgrade-nodes/node-000000'),
    seenAs: 'the children',
  },
  {
    what: 'a numbered node that was made twice',
    to: () => new ChangingNodes('/upgrade-again'),
    done: () => vandal.nodes.create('/upgrade-again-numbered/n-', '', { sequential: true }),
    seenAs: 'the numbered nodes',
  },
  {
    what: 'a write that was done twice',
    to: () => new Reading(),
    done: async () => {
      const { data } = await vandal.nodes.get('/upgrade-read');
      await vandal.nodes.set('/upgrade-read', data);
    },
    seenAs: 'how often it was written',
  },
  {
    what: 'a node that its session has left behind',
    to: () => new ClosedSessions(),
    done: () => vandal.nodes.create('/upgrade-closed/left'),
    seenAs: 'nodes of sessions that ended',
  },
  {
    what: 'a session that has not expired',
    to: () => new ExpiringSessions(),
    done: () => clients.open('expired'),
    seenAs: 'sessions that ended',
  },
  {
    what: 'a session that was closed and lives',
    to: () => new ClosedByOperator(),
    done: () => clients.open('closed-by-operator'),
    seenAs: 'sessions that ended',
  },
  {
    what: 'a change that nobody of the work has made',
    to: () => new WatchingThroughout(),
    done: () => vandal.nodes.create('/upgrade-watched/other'),
    seenAs: 'the changes that the watch has told',
  },
  {
    what: 'half a transaction',
    to: () => new UsingNodesOfAllKinds(),
    done: () => vandal.nodes.set('/upgrade-kinds', 'half'),
    seenAs: 'how many transactions were done',
  },
  {
    what: 'a shared hold that is taken away',
    to: () => new UsingLocksOfAllKinds(),
    done: async () => {
      const lock = 'upgrade-read-throughout';
      const { holders } = await vandal.admin.lock(lock);
      await vandal.admin.revoke(lock, holders[0]?.token ?? 0);
    },
    seenAs: 'lock "upgrade-read-throughout"',
  },
  {
    what: 'a hold with options that is taken away',
    to: () => new UsingTheLatestVersion(),
    done: async () => {
      const lock = 'upgrade-delayed-throughout';
      const { holders } = await vandal.admin.lock(lock);
      await vandal.admin.revoke(lock, holders[0]?.token ?? 0);
      await vandal.admin.endLockDelay(lock);
    },
    seenAs: 'lock "upgrade-delayed-throughout"',
  },
];

describe("a work of the upgrade's load", () => {
  it.each(damages)('sees $what, and says whose check it was', async ({ to, done, seenAs }) => {
    const work = to();
    const load = await UpgradeLoad.on(clients, [work]);
    await load.progress();
    await load.stop();
    await done();
    await expect(load.finish()).rejects.toThrow(
      new RegExp(`^"${work.name}" failed its check after \\d+ rounds: ${seenAs}`),
    );
  });

  it('sees a delete of lockctl that was lost', async () => {
    const load = await UpgradeLoad.on(clients, [new HoldingAllTheWhile()], [new RunningLockctl([place.client])]);
    await load.dearRound();
    await load.stop();
    await vandal.nodes.create('/upgrade-lockctl/left');
    await expect(load.finish()).rejects.toThrow(
      /^"the commands of lockctl" failed its check after 1 rounds: nodes that are left/,
    );
  });

  it('is named when a round fails', async () => {
    const broken: Work = {
      name: 'broken',
      begin: () => Promise.resolve(),
      round: () => Promise.reject(new Error('no')),
      check: () => Promise.resolve(),
    };
    const load = await UpgradeLoad.on(clients, [broken]);
    await expect(load.progress()).rejects.toThrow('"broken" failed in round 1: no');
  });
});

describe('tokens', () => {
  it.each([
    ['of two grants that are the same', [5, 5], 2],
    ['that fall', [5, 4], 2],
    ['of a grant that nobody heard of', [5], 2],
    ['of a grant that nobody asked for', [5, 6, 7], 2],
  ])('%s are seen', (_, tokens, count) => {
    expect(() => expectRising(tokens, count)).toThrow(/grants/);
  });
});
