/** What a world comes to when nothing more happens to it. */

import { Violation } from './ledger.ts';
import type { Node, World } from './world.ts';

/** Everything that is under way arrives and becomes durable, so many times at most. */
export function settle(world: World, rounds: number, { land = true, tell = true } = {}): void {
  for (let round = 0; round < rounds; round += 1) {
    for (const node of world.nodes) {
      for (let left = node.disk.underWay + node.reads.length; left > 0; left -= 1) world.work(node);
    }
    for (const packet of world.packets.splice(0)) world.deliver(packet);
    if (land) for (const write of world.configurationWrites.splice(0)) world.land(write);
    if (tell) for (const leader of world.leaders) world.tell(leader);
    if (isQuiet(world)) return;
  }
}

function isQuiet({ nodes, packets, configurationWrites }: World): boolean {
  const idle = nodes.every(({ disk, reads }) => disk.underWay === 0 && reads.length === 0);
  return packets.length === 0 && configurationWrites.length === 0 && idle;
}

/** @throws Violation when the group does not serve, though nothing keeps it from that */
export function heal(world: World): void {
  for (const node of world.nodes) {
    node.cut = false;
    node.hidden = false;
    node.paused = false;
    world.start(node);
  }
  for (let attempt = 0; attempt < 12; attempt += 1) {
    const { inSync } = world.configuration;
    const candidate = world.nodes.find(({ id, core }) => core !== undefined && inSync.includes(id));
    if (candidate === undefined) throw new Violation('no replica of the in-sync set is left');
    world.elect(candidate, world.configuration);
    settle(world, 6);
    for (let round = 0; round < 8; round += 1) {
      for (const other of world.nodes) {
        if (other === candidate) continue;
        world.step(candidate, { type: other.lost ? 'suspect' : 'connected', replica: other.id });
      }
      // A log that differs is compared entry by entry.
      settle(world, 40);
      if (isWhole(world)) break;
    }
    if (candidate.core?.status.role === 'serving') return readAndWrite(world, candidate);
  }
  throw new Violation('nobody serves, though all is healed');
}

/** Whether those, and only those, are in sync that are not lost. */
function isWhole({ nodes, configuration: { inSync } }: World): boolean {
  return nodes.every(({ id, lost }) => inSync.includes(id) !== lost);
}

function readAndWrite(world: World, primary: Node): void {
  if (!isWhole(world)) throw new Violation(`in sync are ${world.configuration.inSync.join()}, though all is healed`);
  const { reads, acknowledged } = world.ledger.counts;
  world.read(primary);
  world.propose(primary);
  settle(world, 20);
  if (world.ledger.counts.reads === reads) throw new Violation('a read has no answer, though all is healed');
  if (world.ledger.counts.acknowledged === acknowledged) {
    throw new Violation('a write has no answer, though all is healed');
  }
  // With the next one, the others learn what is committed.
  world.propose(primary);
  settle(world, 20);
  for (const { core, disk } of world.nodes) {
    if (core !== undefined) world.ledger.holds(core.status.commit, disk.view);
  }
}
