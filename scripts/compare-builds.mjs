#!/usr/bin/env node
// Applies the same random entries to the state machines of two builds, and compares what they answer and their state digests:
//   node scripts/compare-builds.mjs OLD NEW [RUNS]     directories that have protocol/dist and state/dist, as packages/ has
//
// The builds must agree on every entry as long as the state version is one that both know: a server of each may be in one ensemble.
// Now and then each goes on from the other's snapshot. Exits with 1 where they differ, and says at which entry of which run.

import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

const ENTRIES = 400;
/** Each must have been seen in every set of runs: otherwise nothing was compared. */
const EXPECTED = ['attached', 'reply', 'refused', 'granted', 'lost', 'sessionCreated', 'sessionEnded'];
const seen = new Set();
const SNAPSHOT_EVERY = 97;

async function load(directory) {
  const [protocol, state] = await Promise.all(
    ['protocol', 'state'].map((name) => import(join(resolve(directory), name, 'dist', 'index.js'))),
  );
  return { directory, protocol, state };
}

/** Numbers from 0 to 2^32 − 1, the same for a seed (mulberry32). */
function randomFrom(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Commands by their numbers and fields: what either build may not know is asked for, too, and now and then a payload is cut. */
function randomEntry(random, { protocol, state }, sessions, index) {
  const path = ['/a', '/b', '/a/c', '/holdfast/x'][random(4)];
  const lock = ['l', 'm', 'n/ü'][random(3)];
  const attach = [new Uint8Array(32).fill(1 + random(5)), 0, 10_000, 'run'];
  const session = sessions[random(Math.max(1, sessions.length))] ?? { id: 0, generation: 0, number: 0 };
  const [command, fields] = [
    [1, attach],
    [3, [path, new Uint8Array(random(9)), random(10) === 0 ? random(256) : random(4)]],
    [4, [path, new Uint8Array(random(9)), random(3) - 1]],
    [5, [random(2) === 0 ? path : `/holdfast/locks/${lock}/q-000000000${random(3)}`, -1]],
    [6, [lock, [0, 0, 200, random(256)][random(4)], random(3) > 0, random(8) === 0 ? [random(9), 'x', true] : []]],
    [6, [lock, 0, true, []]],
    [7, [lock, session.acquired ?? random(index + 1)]],
    [8, [lock, random(index + 1)]],
    [2, [random(6) === 0 ? session.id : 77_777]],
    [9 + random(55), [random(9)]],
    [64, [session.id, session.generation]],
    [67, [session.id]],
  ][random(12)];
  const payload = protocol.pack(fields);
  const cut = random(40) === 0 ? payload.subarray(0, random(payload.length)) : payload;
  const own = command > 1 && command < 64;
  if (own) session.number += random(30) === 0 ? 0 : 1;
  const header = own
    ? {
        command,
        session: session.id,
        generation: session.generation,
        number: session.number,
        ackedUpTo: random(2) * Math.max(0, session.number - 3),
      }
    : { command, session: 0, generation: 0, number: command === 1 ? 4_711 : 0, ackedUpTo: 0 };
  const entry = state.encodeEntry(header, cut);
  state.stampEntry(entry, 1_700_000_000_000 + index, 1);
  return { entry, session };
}

function bytesOf(machine) {
  const snapshot = machine.beginSnapshot();
  const pieces = [];
  for (let piece = snapshot.next(65_536); piece !== undefined; piece = snapshot.next(65_536)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function restored({ state }, bytes, index) {
  const machine = new state.StateMachine();
  const restoring = machine.beginRestore(index);
  restoring.push(bytes);
  restoring.finish();
  return machine;
}

/** Undefined where they agree. */
function compare(seed, builds) {
  const random = randomFrom(seed);
  const sessions = [];
  let machines = builds.map(({ state }) => new state.StateMachine());
  for (let index = 1; index <= ENTRIES; index += 1) {
    const { entry, session } = randomEntry(random, builds[1], sessions, index);
    const outputs = machines.map((machine) => machine.apply(index, entry.slice()));
    if (!isDeepStrictEqual(plain(outputs[0]), plain(outputs[1]))) {
      return `entry ${index}: ${JSON.stringify(outputs[0])} and ${JSON.stringify(outputs[1])}`;
    }
    const [old, fresh] = machines;
    if (old.digest !== fresh.digest) return `entry ${index}: digests ${old.digest} and ${fresh.digest}`;
    for (const { type, reply } of outputs[1]) {
      seen.add(type);
      if (type === 'attached' && reply.type === 'attached') {
        const known = sessions.find(({ id }) => id === reply.session);
        if (known === undefined)
          sessions.push({ id: reply.session, generation: reply.generation, number: reply.lastApplied });
        else known.generation = reply.generation;
      } else if (type === 'reply' && reply.type === 'acquire') session.acquired = reply.acquireIndex;
    }
    if (index % SNAPSHOT_EVERY === 0) {
      const taken = machines.map(bytesOf);
      if (!taken[0].equals(taken[1]))
        return `entry ${index}: snapshots of ${taken[0].length} and ${taken[1].length} bytes differ`;
      machines = [restored(builds[0], taken[1], index), restored(builds[1], taken[0], index)];
    }
  }
  return undefined;
}

function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

const [oldDirectory, newDirectory, runs = '50'] = process.argv.slice(2);
if (newDirectory === undefined) {
  process.stderr.write('usage: node scripts/compare-builds.mjs OLD NEW [RUNS]\n');
  process.exit(64);
}
const builds = [await load(oldDirectory), await load(newDirectory)];
for (let seed = 1; seed <= Number(runs); seed += 1) {
  const difference = compare(seed, builds);
  if (difference !== undefined) {
    process.stderr.write(`run ${seed}, ${difference}\n`);
    process.exit(1);
  }
}
const missing = EXPECTED.filter((type) => !seen.has(type));
if (missing.length > 0) {
  process.stderr.write(`no run had ${missing.join(', ')}: make more runs\n`);
  process.exit(2);
}
process.stdout.write(`${runs} runs of ${ENTRIES} entries: both builds gave the same answers, digests and snapshots\n`);
