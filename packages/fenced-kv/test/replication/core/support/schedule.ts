/** Schedules of a world: what happens next, drawn from a seed. The same seed makes the same schedule. */

import { randomStream } from '@holdfast/runtime/sim';
import { heal, settle } from './settle.ts';
import { World, type Node, type WorldOptions } from './world.ts';

const WEIGHTS = {
  deliver: 40,
  work: 24,
  propose: 14,
  settle: 10,
  read: 7,
  land: 6,
  tell: 6,
  calm: 4,
  mend: 3,
  connect: 4,
  suspect: 4,
  drop: 3,
  elect: 3,
  cut: 3,
  forget: 3,
  repeat: 2,
  stash: 4,
  late: 4,
  ambush: 2,
  usurp: 2,
  crash: 2,
  pause: 2,
  hide: 1,
  outage: 1,
  powerLoss: 1,
  leaveBehind: 2,
  lose: 0.2,
} as const;
type Kind = keyof typeof WEIGHTS;
/** What happens, and two numbers below 1,000 that say to whom and how. */
export type Action = readonly [kind: Kind, a: number, b: number];

const KINDS: readonly Kind[] = Object.keys(WEIGHTS).filter((name): name is Kind => name in WEIGHTS);
const TOTAL = KINDS.reduce((sum, each) => sum + WEIGHTS[each], 0);
/** A hundred actions and more: a group needs some of them to come to anything. */
const MIN_ACTIONS = 60;
const MAX_ACTIONS = 300;

export function scheduleOf(seed: number): readonly Action[] {
  const random = randomStream(seed, 'replication schedule');
  const length = MIN_ACTIONS + random.integer(MAX_ACTIONS - MIN_ACTIONS);
  return Array.from({ length }, () => {
    let left = random.next() * TOTAL;
    const kind = KINDS.find((each) => (left -= WEIGHTS[each]) < 0) ?? 'settle';
    return [kind, random.integer(1_000), random.integer(1_000)];
  });
}

/**
 * Runs the schedule, loses the power of all, heals everything, and looks whether the group serves.
 *
 * @throws Violation when the group breaks a promise
 */
export function runSchedule(options: WorldOptions, schedule: readonly Action[]): World {
  const world = new World(options);
  const [first] = world.nodes;
  if (first !== undefined) world.elect(first, world.configuration);
  settle(world, 6);
  for (const action of schedule) act(world, action);
  for (const node of world.nodes) world.crash(node, 0);
  heal(world);
  return world;
}

function act(world: World, [what, a, b]: Action): void {
  const node = pick(world.nodes, a);
  const leader = pick(world.leaders, a);
  const other = pick(world.nodes, b);
  if (node === undefined || other === undefined) throw new Error('a group has replicas');
  switch (what) {
    case 'deliver':
      return deliverOne(world, a, b % 8 === 0);
    case 'repeat':
      return deliverOne(world, a, true);
    case 'drop':
      world.packets.splice(a % Math.max(1, world.packets.length), 1);
      return;
    case 'work':
      return world.work(node);
    case 'propose':
      if (leader) world.propose(leader);
      return;
    case 'read':
      if (leader) world.read(leader);
      return;
    case 'stash':
      return stash(world, a);
    case 'late':
      for (const packet of world.late.splice(a % Math.max(1, world.late.length), 1)) world.deliver(packet);
      return;
    case 'calm':
      return calm(world, a);
    case 'usurp':
      return usurp(world, node, pick(world.leaders, b));
    case 'settle':
      return settle(world, 1 + (b % 4));
    case 'land':
      return landOne(world, a, b % 4 === 0);
    case 'tell':
      return world.tell(node);
    case 'connect':
      if (leader && leader !== other) world.step(leader, { type: 'connected', replica: other.id });
      return;
    case 'suspect':
      if (leader && leader !== other) world.step(leader, { type: 'suspect', replica: other.id });
      return;
    case 'forget':
      return world.forget(leader ?? node, b % 3);
    case 'elect':
      return world.elect(node, (b % 4 === 0 ? world.configurations.at(-2) : undefined) ?? world.configuration);
    case 'ambush':
      return ambush(world, node, pick(world.leaders, b), b % 2 === 0);
    case 'leaveBehind':
      return leaveBehind(world, node, pick(world.leaders, b));
    case 'mend':
    case 'cut':
    case 'hide':
    case 'pause':
    case 'outage':
    case 'crash':
    case 'powerLoss':
    case 'lose':
      return fail(world, what, node, b);
  }
}

type Fault = 'mend' | 'cut' | 'hide' | 'pause' | 'outage' | 'crash' | 'powerLoss' | 'lose';

function fail(world: World, what: Fault, node: Node, b: number): void {
  switch (what) {
    case 'mend':
      node.cut = false;
      node.hidden = false;
      node.paused = false;
      return world.start(node);
    case 'cut':
      node.cut = !node.cut;
      return;
    case 'hide':
      node.hidden = !node.hidden;
      return;
    case 'pause':
      node.paused = !node.paused;
      return;
    case 'outage':
      // Nobody can reach the ensemble, or everybody can again.
      for (const each of world.nodes) each.hidden = b % 2 === 0;
      return;
    case 'crash':
      return world.crash(node, b % (node.disk.underWay + 1));
    case 'powerLoss':
      for (const each of world.nodes) world.crash(each, b % (each.disk.underWay + 1));
      for (const each of world.nodes) world.start(each);
      return;
    case 'lose':
      return lose(world, node);
  }
}

/**
 * The leader goes on without the victim, and hears nothing of the configuration; then the victim is elected. Where a set that is in
 * force is not what the leader takes it for, the victim lacks something.
 */
function ambush(world: World, victim: Node, leader: Node | undefined, land: boolean): void {
  if (leader === undefined || leader === victim) return;
  victim.cut = true;
  world.propose(leader);
  settle(world, 4, { land, tell: false });
  victim.cut = false;
  world.elect(victim, world.configuration);
  settle(world, 6);
}

/** The victim becomes primary, and goes on without the leader, which hears nothing of it and is read from. */
function usurp(world: World, victim: Node, leader: Node | undefined): void {
  if (leader === undefined || leader === victim) return;
  leader.cut = true;
  leader.hidden = true;
  world.elect(victim, world.configuration);
  settle(world, 4);
  world.step(victim, { type: 'suspect', replica: leader.id });
  settle(world, 4);
  world.propose(victim);
  settle(world, 2);
  world.read(leader);
}

/** The faults end, and somebody serves. */
function calm(world: World, at: number): void {
  for (const node of world.nodes) fail(world, 'mend', node, 0);
  const { inSync } = world.configuration;
  const serves = world.leaders.some(({ core }) => core?.status.role === 'serving');
  const candidate = pick(
    world.nodes.filter(({ id, lost }) => inSync.includes(id) && !lost),
    at,
  );
  if (!serves && candidate !== undefined) world.elect(candidate, world.configuration);
  settle(world, 4);
  for (const leader of world.leaders) {
    for (const { id, lost } of world.nodes) {
      if (id !== leader.id) world.step(leader, { type: lost ? 'suspect' : 'connected', replica: id });
    }
  }
  settle(world, 12);
}

/** A packet will come again, when nobody thinks of it any more. */
function stash(world: World, at: number): void {
  const packet = pick(world.packets, at);
  if (packet !== undefined) world.late.push(packet);
}

/** The leader removes the victim, writes on, and forgets what the victim lacks; then it can reach it again. */
function leaveBehind(world: World, victim: Node, leader: Node | undefined): void {
  if (leader === undefined || leader === victim) return;
  victim.cut = true;
  world.step(leader, { type: 'suspect', replica: victim.id });
  settle(world, 4);
  for (let write = 0; write < 3; write += 1) world.propose(leader);
  settle(world, 4);
  world.forget(leader, 0);
  victim.cut = false;
  world.step(leader, { type: 'connected', replica: victim.id });
  // Clients write on meanwhile.
  for (let round = 0; round < 4; round += 1) {
    world.propose(leader);
    settle(world, 1);
  }
}

function deliverOne(world: World, at: number, again: boolean): void {
  const index = at % Math.max(1, world.packets.length);
  const packet = world.packets[index];
  if (packet === undefined) return;
  if (!again) world.packets.splice(index, 1);
  world.deliver(packet);
}

function landOne(world: World, at: number, again: boolean): void {
  const index = at % Math.max(1, world.configurationWrites.length);
  const write = world.configurationWrites[index];
  if (write === undefined) return;
  if (!again) world.configurationWrites.splice(index, 1);
  world.land(write);
}

/** Whatever minority is lost for good, what was acknowledged stays. */
function lose(world: World, node: Node): void {
  const lost = world.nodes.filter((each) => each.lost).length;
  if (lost + world.minInSync >= world.nodes.length || node.lost) return;
  world.crash(node, 0);
  node.lost = true;
}

function pick<Item>(items: readonly Item[], at: number): Item | undefined {
  return items[at % Math.max(1, items.length)];
}

/** The schedule without all that the failure does not need. */
export function shortened(
  schedule: readonly Action[],
  fails: (schedule: readonly Action[]) => boolean,
): readonly Action[] {
  let shortest = schedule;
  for (let size = Math.ceil(schedule.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < shortest.length;) {
      const without = [...shortest.slice(0, at), ...shortest.slice(at + size)];
      if (fails(without)) shortest = without;
      else at += size;
    }
  }
  return shortest;
}
