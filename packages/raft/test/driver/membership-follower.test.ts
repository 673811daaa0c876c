import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';

import { initialConfiguration, logIndex, serverId, type MemberFacts } from '../../src/core/index.ts';
import { MembershipFollower } from '../../src/driver/membership-follower.ts';

const configuration = initialConfiguration([1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));
const fact = (id: number): MemberFacts => ({ id: serverId(id), incarnation: `i${id}`, clientAddress: `client:${id}` });

class Scene {
  /** What members have told that the configuration does not say. */
  facts: MemberFacts[] = [];
  mayChange = true;
  allTakeConfigurations = true;
  configurationVersion = 1;
  readonly recorded: unknown[] = [];
  peersChanged = 0;
  readonly follower: MembershipFollower;

  constructor() {
    const { scene, at } = { scene: this, at: { index: logIndex(0), configuration } };
    this.follower = new MembershipFollower({
      id: serverId(1),
      core: {
        get configurationVersion() {
          return scene.configurationVersion;
        },
        get mayChange() {
          return scene.mayChange;
        },
        configuration: at,
        committedConfiguration: at,
        replicationTargets: configuration.members,
      },
      mesh: {
        update: () => {},
        allTakeConfigurations: () => this.allTakeConfigurations,
        newFacts: () => this.facts,
      },
      inbox: { add: (event) => void this.recorded.push(event) },
      inbound: { peersChanged: () => void (this.peersChanged += 1) },
      machine: { removed: () => {} },
      logger: silentLogger,
      failed: () => {},
    });
  }

  /** The events that come of a look. */
  look(): unknown[] {
    this.follower.addFacts();
    return this.recorded.splice(0);
  }
}

describe('what members tell of themselves', () => {
  it('is recorded when a peer has introduced itself, after nothing was left to record', () => {
    const scene = new Scene();
    expect(scene.look()).toEqual([]);
    scene.facts = [fact(2)];
    const told = scene.peersChanged;
    scene.follower.handshakeDone();
    expect(scene.peersChanged).toBe(told + 1);
    expect(scene.look()).toEqual([{ type: 'member-facts', facts: [fact(2)] }]);
  });

  it('is looked for again until the configuration has it, and then no more', () => {
    const scene = new Scene();
    scene.facts = [fact(2)];
    expect(scene.look()).toHaveLength(1);
    expect(scene.look()).toHaveLength(1);
    scene.facts = [];
    expect(scene.look()).toEqual([]);
    scene.facts = [fact(3)];
    expect(scene.look()).toEqual([]);
    scene.configurationVersion += 1;
    scene.follower.endTurn();
    expect(scene.look()).toEqual([{ type: 'member-facts', facts: [fact(3)] }]);
  });

  it.each(['mayChange', 'allTakeConfigurations'] as const)('waits for its time (%s)', (condition) => {
    const scene = new Scene();
    scene.facts = [fact(2)];
    scene[condition] = false;
    expect(scene.look()).toEqual([]);
    scene[condition] = true;
    expect(scene.look()).toHaveLength(1);
  });
});
