#!/usr/bin/env node
// Records what this build writes and sends, into a directory of fixtures: node scripts/record-formats.mjs DIRECTORY
//
//   frames.json    the bytes of each value that it lists; a new message is added there by its value alone
//   data/          the data directory of a server whose clients have used every command
//   snapshot.bin   the state after that log
//   expected.json  what the state must be
//
// Before the first release formats may change, and fixtures/first-version is recorded anew. After it, a directory that was recorded is never
// recorded again: a build that cannot read it has lost somebody's data. A new format gets a new directory.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { encodeClientFrame, encodeCommand, encodeServerFrame, pack } from '../packages/protocol/dist/index.js';
import * as protocol from '../packages/protocol/dist/index.js';
import * as raft from '../packages/raft/dist/index.js';
import { silentLogger } from '../packages/runtime/dist/index.js';
import { nodeRuntime } from '../packages/runtime/dist/node/index.js';
import { StateMachine } from '../packages/state/dist/index.js';
import { encodePeerMessages } from '../packages/lockd/dist/peers/peer-message.js';
import { recordedEntries } from './record-formats/entries.mjs';

const GREETINGS = {
  hello: raft.encodeHello,
  challenge: raft.encodeChallenge,
  proof: raft.encodeProof,
  welcome: ({ features }) => raft.encodeWelcome(features),
  expulsion: raft.encodeExpulsion,
};

const ENCODERS = {
  commands: encodeCommand,
  client: (message) => encodeClientFrame([message]),
  server: (message) => encodeServerFrame([message]),
  greetings: (greeting) => GREETINGS[greeting.type](greeting),
  raft: (message) => pack([raft.peerItem(message)]),
  snapshot: raft.encodeSnapshotMessage,
  peer: (message) => encodePeerMessages([message]),
};

/** All of the log. */
const SEGMENT_BYTES = 16 * 1024;

/** Bytes are `{ hex }` in JSON. */
const revive = (_, value) => (typeof value?.hex === 'string' ? Uint8Array.from(Buffer.from(value.hex, 'hex')) : value);
const hexOf = (bytes) => Buffer.from(bytes).toString('hex');

function recordFrames(file) {
  const listed = JSON.parse(readFileSync(file, 'utf8'));
  const values = JSON.parse(readFileSync(file, 'utf8'), revive);
  for (const [group, encode] of Object.entries(ENCODERS)) {
    for (const [at, { value }] of values[group].entries()) listed[group][at].bytes = hexOf(encode(value));
  }
  writeFileSync(file, `${JSON.stringify(listed, null, 2)}\n`);
}

async function recordData(path, entries) {
  const { disk, random } = nodeRuntime({ logger: silentLogger });
  const world = { disk, random, logger: silentLogger };
  const identity = { clusterId: 'recorded', serverId: raft.serverId(1) };
  const members = [{ id: raft.serverId(1), peerAddress: '127.0.0.1:7201' }];
  const directory = await raft.openDataDirectory({ ...identity, path, members, segmentBytes: SEGMENT_BYTES }, world);
  const { incarnation, logDirectory } = directory;
  const options = { ...identity, incarnation, directory: logDirectory, segmentBytes: SEGMENT_BYTES };
  const log = await raft.openWriteAheadLog(options, world);
  await log.write({ hardState: { term: raft.term(1), votedFor: raft.serverId(1) }, entries: [] });
  for (const [at, data] of entries.entries()) {
    const type = data === undefined ? raft.EntryType.noop : raft.EntryType.command;
    const entry = { index: raft.logIndex(at + 1), term: raft.term(1), type, data: data ?? new Uint8Array() };
    await log.write({ entries: [entry] });
  }
  await log.close();
  await directory.release();
  rmSync(join(logDirectory, 'next.prepared'), { force: true });
}

function recordState(path, entries) {
  const machine = new StateMachine();
  for (const [at, data] of entries.entries()) {
    if (data === undefined) machine.applyNoop(at + 1);
    else machine.apply(at + 1, data);
  }
  const pieces = [];
  const snapshot = machine.beginSnapshot();
  for (let piece = snapshot.next(4_096); piece !== undefined; piece = snapshot.next(4_096)) pieces.push(piece);
  writeFileSync(join(path, 'snapshot.bin'), Buffer.concat(pieces));
  const { appliedIndex: index, version, digest, counts } = machine;
  const { queue } = machine.query({ type: 'lock', lock: 'held' });
  const expected = { index, version, digest, counts, held: queue[0].token };
  writeFileSync(join(path, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`);
}

const [target] = process.argv.slice(2);
if (target === undefined || !readdirSync(target).includes('frames.json')) {
  process.stderr.write('usage: node scripts/record-formats.mjs DIRECTORY   (which has a frames.json)\n');
  process.exit(64);
}
const entries = recordedEntries(protocol, await import('../packages/state/dist/index.js'));
recordFrames(join(target, 'frames.json'));
rmSync(join(target, 'data'), { recursive: true, force: true });
await recordData(join(target, 'data'), entries);
recordState(target, entries);
