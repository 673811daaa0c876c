import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { describe, expect, it } from 'vitest';
import { MemberChanges } from '../../src/targets/members/member-changes.ts';
import type { ChangingServer, MembersWorld } from '../../src/targets/members/members-world.ts';

describe('what an operator does about the members', () => {
  it('ends with the run, though a server that is to join never says its secret', async () => {
    const nothing = (): void => undefined;
    const states = { begun: false, serves: false, expelled: false, diskLost: false, damaged: false, mayWait: true };
    const joining: ChangingServer = { id: 4, ...states, joinSecret: undefined, begin: nothing, loseDisk: nothing };
    const failures: string[] = [];
    const world: MembersWorld = {
      runtime: nodeRuntime({ logger: silentLogger }),
      founders: 3,
      founderMustStay: false,
      servers: new Map([['s4', joining]]),
      leader: undefined,
      members: [],
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
    const changes = new MemberChanges(world);
    const added = changes.add(4, { observer: false, startAfterMs: 0 });
    changes.close();
    await added;
    expect(changes.counts).toMatchObject({ changesBegun: 1, changesMade: 0, changesRefused: 1 });
    expect(failures).toEqual([]);
  });
});
