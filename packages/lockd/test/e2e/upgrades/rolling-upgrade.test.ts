import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockctl } from '../support/lockctl.ts';
import { LockdProcess, until } from '../support/lockd-process.ts';
import { answers, argumentsFor, dataOf, places, status, type Place } from '../support/places.ts';
import { previousBuild } from '../support/previous-build.ts';
import { Clients } from '../support/upgrade/clients.ts';
import { UsingTheLatestVersion } from '../support/upgrade/latest-version.ts';
import { UsingLocksOfAllKinds } from '../support/upgrade/lock-kinds.ts';
import { RunningLockctl } from '../support/upgrade/lockctl-work.ts';
import { Counting, HoldingAllTheWhile, Reattaching, WaitingInOrder } from '../support/upgrade/locks.ts';
import { UsingNodesOfAllKinds } from '../support/upgrade/node-kinds.ts';
import { ChangingNodes, Reading } from '../support/upgrade/nodes.ts';
import { Operating, Revoking } from '../support/upgrade/operators.ts';
import { ClosedByOperator, ClosedSessions, ExpiringSessions } from '../support/upgrade/sessions.ts';
import { WatchingThroughout } from '../support/upgrade/watches.ts';
import { UpgradeLoad } from '../support/upgrade/work.ts';

const SERVERS = [1, 2, 3];

const previous = previousBuild();

describe('an ensemble of the version before, under load', () => {
  let directory: string;
  let trio: Place[];
  let clients: Clients;
  let load: UpgradeLoad;
  const latest = new UsingTheLatestVersion();
  const processes = new Map<number, LockdProcess>();

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'lockd-upgrade-'));
    trio = await places(SERVERS.length);
    for (const id of SERVERS) start(id, 'previous');
    for (const id of SERVERS) await ready(id);
    clients = new Clients(SERVERS.map((id) => `127.0.0.1:${port(id)}`));
    const works = [
      new Counting(),
      new WaitingInOrder(),
      new Reattaching(),
      new HoldingAllTheWhile(),
      new ChangingNodes(),
      new Reading(),
      new ClosedSessions(),
      new ExpiringSessions(),
      new ClosedByOperator(),
      new Revoking(),
      new Operating(),
      new WatchingThroughout(),
      new UsingNodesOfAllKinds(),
      new UsingLocksOfAllKinds(),
      latest,
    ];
    load = await UpgradeLoad.on(clients, works, [new RunningLockctl(SERVERS.map(port))]);
  });

  afterAll(async () => {
    await clients?.closeAll();
    await load?.stop();
    for (const lockd of processes.values()) lockd.kill('SIGKILL');
    await Promise.all([...processes.values()].map((lockd) => lockd.ended()));
    for (const each of [directory, previous.directory]) rmSync(each, { recursive: true, force: true });
  });

  function start(id: number, version: 'previous' | 'present'): LockdProcess {
    const main = version === 'previous' ? [previous.main] : [];
    const lockd = new LockdProcess(argumentsFor(id, trio, directory), {}, [], undefined, ...main);
    processes.set(id, lockd);
    return lockd;
  }

  function port(id: number): number {
    return trio[id - 1]?.client ?? 0;
  }

  async function ready(id: number): Promise<void> {
    const lockd = processes.get(id);
    await lockd?.serves();
    await until(async () => lockd?.child.exitCode !== null || (await answers(port(id), '/ready')) === 200);
    expect(lockd?.child.exitCode, lockd?.stderr).toBeNull();
  }

  async function replace(id: number, version: 'previous' | 'present'): Promise<void> {
    const old = processes.get(id);
    old?.kill('SIGTERM');
    expect(await old?.ended(), old?.stderr).toBe(0);
    start(id, version);
    await ready(id);
    // It serves, and has what the others have.
    const { appliedIndex } = await status(port(SERVERS.find((other) => other !== id) ?? 0));
    await until(async () => (await status(port(id))).appliedIndex >= appliedIndex);
    clients.breakAll();
  }

  /** Everything gets on while that server leads, and all of them have sessions to serve. */
  async function worksUnder(leader: number): Promise<void> {
    await until(async () => {
      const { code, stdout } = await lockctl(SERVERS.map(port), 'transfer', `${leader}`);
      return code === 0 && stdout === `Server ${leader} leads.\n`;
    });
    await until(async () => {
      const reports = await Promise.all(SERVERS.map((id) => status(port(id))));
      return reports.every(({ boundSessions }) => boundSessions > 0);
    });
    await load.progress();
  }

  it('goes over to this one server by server, back where nothing new is used, and loses nothing', async () => {
    await Promise.all([worksUnder(1), load.dearRound()]);
    await replace(1, 'present');
    await worksUnder(1);
    await worksUnder(2);
    await load.dearRound();
    // Taken back: what this version wrote among servers of the version before is theirs, too.
    await replace(1, 'previous');
    await worksUnder(1);
    for (const id of SERVERS) {
      expect((await status(port(SERVERS.at(-1) ?? 0))).stateVersion ?? 1).toBeLessThan(LATEST_STATE_VERSION);
      expect([latest.refused > 0, latest.done], 'refused, and done, before all servers know it').toEqual([true, 0]);
      await replace(id, 'present');
      await worksUnder(id);
    }
    await until(async () => {
      const versions = await Promise.all(SERVERS.map(async (id) => (await status(port(id))).stateVersion));
      return versions.every((version) => version === LATEST_STATE_VERSION);
    });
    await Promise.all([load.progress(), load.dearRound()]);
    expect(latest.done, 'done since all servers know it').toBeGreaterThan(0);
    await load.finish();
  }, 300_000);

  it('does not take a server back once something new is used: it says so, and leaves its data as they are', async () => {
    const present = processes.get(2);
    present?.kill('SIGTERM');
    expect(await present?.ended(), present?.stderr).toBe(0);
    const identity = join(dataOf(2, directory), 'identity.json');
    const before = readFileSync(identity);
    const old = start(2, 'previous');
    expect(await old.ended(), old.stderr).toBe(70);
    expect(old.stderr.trim().split('\n').at(-1)).toMatch(
      /start the version of the program that wrote it|run the version that the other/,
    );
    expect(readFileSync(identity)).toEqual(before);
    start(2, 'present');
    await ready(2);
  }, 60_000);
});
