import { describe, expect, it } from 'vitest';
import { ENTRY_OVERHEAD_BYTES, serverId, type RaftConfig } from '../../../src/core/index.ts';
import { ScriptedCore, append, sent } from '../support/scripted-core.ts';

const ENTRY_BYTES = ENTRY_OVERHEAD_BYTES + 1;

function leader(config: Partial<RaftConfig>): ScriptedCore {
  const core = new ScriptedCore({ config });
  core.leadInSync();
  return core;
}

/** `count` commands, durable here, committed and applied, which `peers` have acknowledged. */
function commit(core: ScriptedCore, count: number, peers: readonly number[]): void {
  for (let done = 0; done < count; done += 1) {
    core.propose('x');
    core.durable();
    for (const peer of peers) core.acknowledge(peer, core.status.lastIndex);
    core.step({ type: 'applied', index: core.status.commitIndex });
  }
}

/** How many entries are in memory. */
const inMemory = (core: ScriptedCore): number => core.status.lastIndex - core.core.memoryFrom + 1;

describe('entries in memory', () => {
  it('are few where all have them, and as many as may be where one does not', () => {
    const core = leader({ tailBytes: 20 * ENTRY_BYTES, replicatedTailBytes: 3 * ENTRY_BYTES });
    commit(core, 10, core.peers);
    expect(inMemory(core)).toBe(3);
    commit(core, 10, [2]);
    expect(inMemory(core)).toBe(10);
    commit(core, 30, [2]);
    expect(inMemory(core)).toBe(20);
    core.acknowledge(3, core.status.lastIndex);
    expect(inMemory(core)).toBe(3);
  });

  it('are kept for a follower that is away', () => {
    const core = leader({ replicatedTailBytes: 0 });
    commit(core, 1, core.peers);
    core.step({ type: 'peer-disconnected', peer: serverId(3) });
    commit(core, 10, [2]);
    expect(inMemory(core)).toBe(10);
    const effects = core.step({ type: 'peer-connected', peer: serverId(3) });
    expect(sent(effects, 'append')).toHaveLength(1);
  });

  it('are kept until they are applied, durable here and committed', () => {
    const core = leader({ replicatedTailBytes: 0 });
    commit(core, 1, core.peers);
    expect(inMemory(core)).toBe(0);
    core.propose('x');
    for (const peer of core.peers) core.acknowledge(peer, core.status.lastIndex);
    expect(inMemory(core)).toBe(1);
    core.durable();
    expect(core.status.commitIndex).toBe(core.status.lastIndex);
    expect(inMemory(core)).toBe(1);
    core.step({ type: 'applied', index: core.status.commitIndex });
    expect(inMemory(core)).toBe(0);
  });

  it('are few at a follower that has applied them', () => {
    const core = new ScriptedCore({ config: { replicatedTailBytes: 2 * ENTRY_BYTES } });
    core.receive(2, append(1, [0, 0], [1, 1, 1, 1, 1], 5));
    core.durable();
    expect(inMemory(core)).toBe(5);
    core.step({ type: 'applied', index: core.status.commitIndex });
    expect(inMemory(core)).toBe(2);
  });
});
