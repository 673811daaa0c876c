import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { describe, expect, it, vi } from 'vitest';
import { MemberChanges } from '../../src/targets/members/member-changes.ts';
import type { ChangingServer, MembersWorld } from '../../src/targets/members/members-world.ts';
import { Operator } from '../../src/targets/members/operator.ts';

const nothing = (): void => undefined;

function serverOf(id: number, state: Partial<ChangingServer> = {}): ChangingServer {
  const states = { begun: true, serves: true, expelled: false, diskLost: false, damaged: false, mayWait: false };
  return { id, ...states, joinSecret: undefined, begin: nothing, loseDisk: nothing, ...state };
}

/** Its servers vote, but for those that have not begun. */
function worldOf(servers: readonly ChangingServer[]): { readonly world: MembersWorld; readonly failures: string[] } {
  const failures: string[] = [];
  const world: MembersWorld = {
    runtime: nodeRuntime({ logger: silentLogger }),
    founders: 3,
    founderMustStay: false,
    servers: new Map(servers.map((server) => [`s${server.id}`, server])),
    leader: undefined,
    members: servers.filter(({ begun }) => begun).map(({ id }) => ({ id, role: 'voter' })),
    clientAddresses: () => [],
    peerAddress: () => '127.0.0.1:1',
    directoryIsKnown: () => false,
    hasNoLog: () => true,
    after: nothing,
    count: nothing,
    changing: nothing,
    transferring: nothing,
    removing: nothing,
    losingDisk: nothing,
    fail: (name, message) => void failures.push(`${name}: ${message}`),
  };
  return { world, failures };
}

describe('what an operator does about the members', () => {
  it('ends with the run, though a server that is to join never says its secret', async () => {
    const joining = serverOf(4, { begun: false, serves: false, mayWait: true });
    const { world, failures } = worldOf([joining]);
    const changes = new MemberChanges(world);
    const added = changes.add(4, { observer: false, startAfterMs: 0 });
    changes.close();
    await added;
    expect(changes.counts).toMatchObject({ changesBegun: 1, changesMade: 0, changesRefused: 1 });
    expect(failures).toEqual([]);
  });
});

describe('a disk that is to be lost', () => {
  it('is that of whoever is meant once it may be, so that nobody waits for the disk of one that was removed', async () => {
    const lost: number[] = [];
    const servers = [1, 2, 3, 4].map((id) => serverOf(id, { loseDisk: () => void lost.push(id) }));
    const { world, failures } = worldOf(servers);
    const members = world.members.filter(({ id }) => id !== 1);
    const changes = new MemberChanges({ ...world, members, directoryIsKnown: () => true });
    let meant = 1;
    const done = changes.loseDisk(() => meant);
    expect(changes.mayDamage(2), 'somebody leaves').toBe(false);
    meant = 3;
    await done;
    expect(lost).toEqual([3]);
    expect(failures).toEqual([]);
    expect(changes.mayDamage(2)).toBe(true);
  });
});

describe('who was removed', () => {
  it('is no member any more, whatever servers have said of themselves before', async () => {
    const made = vi.spyOn(Operator.prototype, 'carryOut').mockResolvedValue({ made: true, uncertain: false });
    const { world } = worldOf([serverOf(1), serverOf(2), serverOf(3)]);
    const changes = new MemberChanges(world);
    expect(changes.mayDamage(2)).toBe(true);
    await changes.remove(3);
    made.mockRestore();
    // Of two none may lose what the other one needs.
    expect(changes.mayDamage(2)).toBe(false);
  });
});

describe('a log may be damaged', () => {
  const mayDamage = (server: number, servers: readonly ChangingServer[]): boolean =>
    new MemberChanges(worldOf(servers).world).mayDamage(server);

  it('while a majority has everything without it', () => {
    expect(mayDamage(2, [serverOf(1), serverOf(2), serverOf(3)])).toBe(true);
    const five = [serverOf(1), serverOf(2, { diskLost: true }), serverOf(3), serverOf(4), serverOf(5)];
    expect(mayDamage(1, five)).toBe(true);
  });

  it('not where another has lost its disk or a part of its log', () => {
    expect(mayDamage(2, [serverOf(1, { diskLost: true }), serverOf(2), serverOf(3)])).toBe(false);
    expect(mayDamage(2, [serverOf(1, { damaged: true }), serverOf(2), serverOf(3)])).toBe(false);
  });

  it('not of one of two, nor of one that is damaged or no member', () => {
    expect(mayDamage(2, [serverOf(2), serverOf(3)])).toBe(false);
    expect(mayDamage(2, [serverOf(1), serverOf(2, { damaged: true }), serverOf(3)])).toBe(false);
    expect(mayDamage(4, [serverOf(1), serverOf(2), serverOf(3), serverOf(4, { begun: false })])).toBe(false);
  });

  it('not while somebody leaves', async () => {
    const changes = new MemberChanges(worldOf([serverOf(1), serverOf(2), serverOf(3)]).world);
    const removed = changes.remove(1);
    expect(changes.mayDamage(2)).toBe(false);
    changes.close();
    await removed;
    expect(changes.mayDamage(2)).toBe(true);
  });
});
