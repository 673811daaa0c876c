import type { ProcessExit } from '@holdfast/ensemble';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import type { Version } from '../../../../src/nemeses/target.ts';
import { Machine, type Running } from '../../../../src/targets/live/processes/machine.ts';
import type { ScrapedStatus } from '../../../../src/targets/live/processes/scrape.ts';
import type { OlderBuild } from '../../../../src/targets/live/versions/older-build.ts';
import { ServerVersions } from '../../../../src/targets/live/versions/server-versions.ts';
import { VersionChanges } from '../../../../src/targets/live/versions/version-changes.ts';

const OLDER: OlderBuild = {
  entry: 'older/main.js',
  environment: { OLDER: 'yes' },
  stateVersion: LATEST_STATE_VERSION - 1,
  missing: () => [],
};
const FOUNDERS = ['s1', 's2', 's3'];

/** Servers that end when they are told to, and follow as soon as they serve. */
function world({ older = OLDER, raise = true }: { readonly older?: OlderBuild; readonly raise?: boolean } = {}) {
  const versions = new ServerVersions(FOUNDERS, older);
  const said: string[] = [];
  const latest = new Map<string, ScrapedStatus>();
  const isOlder = (host: string): boolean => versions.programOf(host).entry === OLDER.entry;
  const serverOf = (host: string) => {
    const machine = new Machine({
      host,
      launch: (): Running => {
        const program = isOlder(host) ? 'older' : 'newer';
        said.push(`${host} ${program}`);
        let end: (exit: ProcessExit) => void = () => undefined;
        const exited = new Promise<ProcessExit>((resolve) => (end = resolve));
        return {
          pid: undefined,
          exited,
          kill: () => end({ code: null, signal: 'SIGKILL' }),
          terminate: () => end({ code: 0, signal: null }),
          pause: () => undefined,
          resume: () => undefined,
        };
      },
      serves: async () => await Promise.resolve(true),
      effect: () => undefined,
      down: () => latest.delete(host),
      failed: (name, message) => said.push(`${name}: ${message}`),
    });
    return { machine, begun: true, expelled: false, leaves: false };
  };
  const servers = new Map([...FOUNDERS, 's4'].map((host) => [host, serverOf(host)]));
  const looked = (): void => {
    const raised = raise && [...servers].every(([host, { expelled }]) => expelled || !isOlder(host));
    for (const [host, { machine }] of servers) {
      const stateVersion = raised ? LATEST_STATE_VERSION : LATEST_STATE_VERSION - 1;
      const status = { leader: 1, appliedIndex: 7, stateVersion } as ScrapedStatus;
      if (machine.served) latest.set(host, status);
    }
  };
  const changes = new VersionChanges({
    versions,
    older,
    servers,
    scraper: { latest, committedSeen: 7 },
    runUntil: async (condition) => {
      looked();
      return await Promise.resolve(condition());
    },
    changed: () => said.push('changed'),
    fail: (name, message) => said.push(`${name}: ${message}`),
  });
  const change = async (host: string, version: Version): Promise<void> =>
    await changes.capability?.change(host, version);
  const start = async (): Promise<void> => {
    await Promise.all([...servers.values()].map(({ machine }) => machine.start()));
    said.length = 0;
  };
  return { versions, servers, latest, changes, change, said, start };
}

describe('servers of two versions', () => {
  it('begin with the older one, but for those that join', async () => {
    const { versions, said, servers } = world();
    await Promise.all([...servers.values()].map(({ machine }) => machine.start()));
    expect(said).toEqual(['s1 older', 's2 older', 's3 older', 's4 newer']);
    expect(versions.programOf('s1').environment).toEqual(OLDER.environment);
  });

  it('are all of the newer one where nothing changes versions', () => {
    const versions = new ServerVersions(FOUNDERS, undefined);
    expect(FOUNDERS.map((host) => versions.of(host))).toEqual(['newer', 'newer', 'newer']);
    expect(versions.programOf('s1').environment).toEqual({});
  });

  it('keep their version whatever ends them', async () => {
    const { change, said, servers, start } = world();
    await start();
    await change('s2', 'newer');
    const machine = servers.get('s2')?.machine;
    await machine?.kill();
    await machine?.start();
    expect(said).toEqual(['s2 newer', 'changed', 's2 newer']);
  });
});

describe('a change of version', () => {
  it('is nothing where the server is down, or of that version', async () => {
    const { change, said, servers, start } = world();
    await start();
    await servers.get('s1')?.machine.kill();
    await change('s1', 'newer');
    await change('s2', 'older');
    await change('s4', 'newer');
    expect(said).toEqual([]);
  });

  it('begins when the one before has ended', async () => {
    const { change, said, start } = world();
    await start();
    await Promise.all([change('s1', 'newer'), change('s1', 'older'), change('s2', 'newer')]);
    expect(said).toEqual(['s1 newer', 'changed', 's1 older', 'changed', 's2 newer', 'changed']);
  });

  it('takes no server back once no member is left that never had the newer version', async () => {
    const { change, said, servers, start } = world();
    await start();
    await change('s1', 'newer');
    await change('s2', 'newer');
    await change('s1', 'older');
    await change('s1', 'newer');
    const last = servers.get('s3');
    if (last !== undefined) last.leaves = true;
    said.length = 0;
    await change('s1', 'older');
    await change('s2', 'older');
    await change('s3', 'newer');
    await change('s3', 'older');
    expect(said).toEqual(['s3 newer', 'changed']);
  });
});

describe('an upgrade', () => {
  it('is brought to its end, one server after another, until all apply by the latest version', async () => {
    const { change, changes, said, servers, start, versions } = world();
    await start();
    await change('s2', 'newer');
    const gone = servers.get('s3');
    if (gone !== undefined) gone.expelled = true;
    said.length = 0;
    await changes.complete();
    expect(said).toEqual(['s1 newer', 'changed']);
    expect(versions.older).toEqual(['s3']);
  });

  it('fails the run when the version is not raised', async () => {
    const { changes, said, start } = world({ raise: false });
    await start();
    await changes.complete();
    const before = LATEST_STATE_VERSION - 1;
    const expected = `s1: ${before}, s2: ${before}, s3: ${before}, s4: ${before}`;
    expect(said.at(-1)).toMatch(new RegExp(`^every-server-is-upgraded: .* ${expected}$`));
  });

  it('fails the run when the older version was this one', async () => {
    const { changes, said, start } = world({ older: { ...OLDER, missing: () => ['state-version.js'] } });
    await start();
    await changes.complete();
    expect(said.at(-1)).toBe('the-older-version-is-older: no server has loaded its state-version.js');
  });

  it('must not be taken for done while a member is of the older version', async () => {
    const { change, changes, latest, said, servers, start } = world();
    await start();
    await change('s1', 'newer');
    await change('s2', 'newer');
    said.length = 0;
    latest.set('s1', { stateVersion: LATEST_STATE_VERSION } as ScrapedStatus);
    const last = servers.get('s3');
    if (last !== undefined) last.leaves = true;
    changes.look('s1');
    expect(said).toEqual([]);
    if (last !== undefined) last.leaves = false;
    changes.look('s1');
    expect(said).toEqual([
      `no-version-is-raised-early: s1 applies by state version ${LATEST_STATE_VERSION}, which s3 does not know`,
    ]);
  });
});
