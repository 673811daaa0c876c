/**
 * What the first version wrote and sent: `fixtures/first-version` has its bytes, one of each message and command, a data directory of a
 * server whose clients have used every command, and the snapshot of its state. `scripts/record-formats.mjs` records it anew as long as
 * formats may change, which is before the first release.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  adminAnswers,
  adminOperations,
  answers,
  clientMessages,
  commandName,
  CommandType,
  decodeClientFrame,
  decodeCommand,
  decodeServerFrame,
  encodeClientFrame,
  encodeCommand,
  encodeServerFrame,
  lockKinds,
  membershipChanges,
  pack,
  queries,
  replies,
  serverMessages,
  type CommandName,
} from '@holdfast/protocol';
import {
  decodeChallenge,
  decodeExpulsion,
  decodeHello,
  decodePeerFrame,
  decodeProof,
  decodeSnapshotMessage,
  decodeWelcome,
  encodeChallenge,
  encodeExpulsion,
  encodeHello,
  encodeProof,
  encodeSnapshotMessage,
  encodeWelcome,
  EntryType,
  helloVersion,
  logIndex,
  openDataDirectory,
  openWriteAheadLog,
  PEER_PROTOCOL_VERSION,
  peerItem,
  peerItems,
  serverId,
  snapshotMessages,
} from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { StateMachine } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { decodePeerMessages, encodePeerMessages, peerMessages } from '../src/peers/peer-message.ts';

const RECORDED = fileURLToPath(new URL('fixtures/first-version', import.meta.url));

const SNAPSHOT = join(RECORDED, 'snapshot.bin');

interface Recorded {
  readonly value: { readonly type: string };
  readonly bytes: string;
}

type Group = 'commands' | 'client' | 'server' | 'peerHello' | 'greetings' | 'raft' | 'snapshot' | 'peer';

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(RECORDED, name), 'utf8'), (_, value: unknown) => {
    const hex = typeof value === 'object' && value !== null && 'hex' in value ? value.hex : undefined;
    return typeof hex === 'string' ? bytesOf(hex) : value;
  });
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}

const frames = readJson('frames.json') as Readonly<Record<Group, readonly Recorded[]>>;

interface Codec {
  readonly decode: (bytes: Uint8Array, recorded: Recorded) => unknown;
  readonly encode: (decoded: never, recorded: Recorded) => Uint8Array;
}

const commandOf = ({ value }: Recorded): CommandName => commandName(CommandType[value.type as CommandName]) ?? 'attach';

const GREETINGS = {
  hello: { decode: decodeHello, encode: encodeHello },
  challenge: { decode: decodeChallenge, encode: encodeChallenge },
  proof: { decode: decodeProof, encode: encodeProof },
  welcome: {
    decode: (bytes: Uint8Array) => ({ features: decodeWelcome(bytes) }),
    encode: ({ features }: { readonly features: number }) => encodeWelcome(features),
  },
  expulsion: { decode: decodeExpulsion, encode: encodeExpulsion },
};

const greetingOf = ({ value }: Recorded): Codec => GREETINGS[value.type as keyof typeof GREETINGS];

const CODECS: Readonly<Record<Exclude<Group, 'peerHello'>, Codec>> = {
  commands: {
    decode: (bytes, recorded) => decodeCommand(commandOf(recorded), bytes),
    encode: (command) => encodeCommand(command),
  },
  client: { decode: (bytes) => decodeClientFrame(bytes)[0], encode: (message) => encodeClientFrame([message]) },
  server: { decode: (bytes) => decodeServerFrame(bytes)[0], encode: (message) => encodeServerFrame([message]) },
  greetings: {
    decode: (bytes, recorded) => ({
      type: recorded.value.type,
      ...(greetingOf(recorded).decode(bytes, recorded) as object),
    }),
    encode: (greeting, recorded) => greetingOf(recorded).encode(greeting, recorded),
  },
  raft: {
    decode: (bytes) => decodePeerFrame(bytes)[0],
    encode: (message) => pack([peerItem(message)]),
  },
  snapshot: { decode: decodeSnapshotMessage, encode: encodeSnapshotMessage },
  peer: { decode: (bytes) => decodePeerMessages(bytes)[0], encode: (message) => encodePeerMessages([message]) },
};

describe.each(Object.entries(CODECS))('the first version’s %s', (group, { decode, encode }) => {
  it.each(frames[group as Group].map((recorded) => [recorded.value.type, recorded] as const))(
    '%s is understood, and written as it was',
    (_, recorded) => {
      const decoded = decode(bytesOf(recorded.bytes), recorded);
      expect(decoded).toMatchObject(recorded.value);
      expect(hexOf(encode(decoded as never, recorded))).toBe(recorded.bytes);
    },
  );
});

/** Of each family of messages, where in the recorded values those of the family are. */
const FAMILIES: Readonly<Record<string, Family>> = {
  'messages of clients': { declared: clientMessages, group: 'client', at: [] },
  queries: { declared: queries, group: 'client', at: ['query'] },
  'admin operations': { declared: adminOperations, group: 'client', at: ['operation'] },
  'changes of the members': { declared: membershipChanges, group: 'client', at: ['operation', 'change'] },
  'messages of servers': { declared: serverMessages, group: 'server', at: [] },
  replies: { declared: replies, group: 'server', at: ['reply'] },
  'answers and admin answers': {
    declared: { numbers: { ...answers.numbers, ...adminAnswers.numbers } },
    group: 'server',
    at: ['answer'],
  },
  'items between servers': { declared: peerItems, group: 'raft', at: [] },
  'messages between servers': { declared: peerMessages, group: 'peer', at: [] },
  'messages of snapshots': { declared: snapshotMessages, group: 'snapshot', at: [] },
  greetings: { declared: { numbers: GREETINGS }, group: 'greetings', at: [] },
  commands: { declared: { numbers: CommandType }, group: 'commands', at: [] },
};

interface Family {
  readonly declared: { readonly numbers: Readonly<Record<string, unknown>> };
  readonly group: Group;
  readonly at: readonly string[];
}

function inside(value: unknown, fields: readonly string[]): unknown {
  return fields.reduce((inner, field) => (inner as Readonly<Record<string, unknown>> | undefined)?.[field], value);
}

describe('what the first version says', () => {
  it.each(Object.entries(FAMILIES))('has every one of its %s recorded', (_, { declared, group, at }) => {
    const recorded = new Set(
      frames[group].map(({ value }) => (inside(value, at) as Recorded['value'] | undefined)?.type),
    );
    expect(Object.keys(declared.numbers).filter((name) => !recorded.has(name))).toEqual([]);
  });

  it('has every kind of lock recorded', () => {
    const kinds = new Set(frames.commands.map(({ value }) => (value as { readonly kind?: number }).kind));
    expect(Object.values(lockKinds.numbers).filter((number) => !kinds.has(number))).toEqual([]);
  });
});

describe('the first version’s hello between servers', () => {
  it('is known by its version, since servers of that time prove nothing', () => {
    const [recorded] = frames.peerHello;
    expect(helloVersion(bytesOf(recorded?.bytes ?? ''))).toBe(1);
    expect(PEER_PROTOCOL_VERSION).toBeGreaterThan(1);
  });
});

describe('the first version’s data directory', () => {
  it('is opened, makes the same state, and can be given back', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'lockd-first-version-'));
    try {
      cpSync(join(RECORDED, 'data'), scratch, { recursive: true });
      const world = nodeRuntime({ logger: silentLogger });
      const identity = { clusterId: 'recorded', serverId: serverId(1) };
      const directory = await openDataDirectory({ ...identity, path: scratch, members: [] }, world);
      const { incarnation, features, logDirectory } = directory;
      const log = await openWriteAheadLog({ ...identity, incarnation, features, directory: logDirectory }, world);
      const machine = new StateMachine();
      for (const { index, type, data } of await log.read(logIndex(1), log.durable.lastIndex, Infinity)) {
        if (type === EntryType.command) machine.apply(index, data);
        else machine.applyNoop(index);
      }
      await log.close();
      await directory.release();
      expectRecordedState(machine);
      // And writes the same snapshot of it.
      expect(hexOf(snapshotOf(machine))).toBe(hexOf(readFileSync(SNAPSHOT)));
      expect(readFileSync(join(scratch, 'identity.json'))).toEqual(
        readFileSync(join(RECORDED, 'data', 'identity.json')),
      );
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
});

describe('the first version’s snapshot', () => {
  it('is restored, and written again as it was', () => {
    const { index } = readJson('expected.json') as { readonly index: number };
    const bytes = readFileSync(SNAPSHOT);
    const machine = new StateMachine();
    const restoring = machine.beginRestore(index);
    restoring.push(bytes);
    restoring.finish();
    expectRecordedState(machine);
    expect(hexOf(snapshotOf(machine))).toBe(hexOf(bytes));
  });
});

function expectRecordedState(machine: StateMachine): void {
  const { held, ...expected } = readJson('expected.json') as Record<string, unknown>;
  const { appliedIndex: index, version, digest, counts } = machine;
  expect({ index, version, digest, counts }).toEqual(expected);
  expect(machine.query({ type: 'lock', lock: 'held' })).toMatchObject({ queue: [{ token: held }, { token: 0 }] });
}

function snapshotOf(machine: StateMachine): Uint8Array {
  const snapshot = machine.beginSnapshot();
  const pieces: Uint8Array[] = [];
  for (let piece = snapshot.next(4_096); piece !== undefined; piece = snapshot.next(4_096)) pieces.push(piece);
  return Buffer.concat(pieces);
}
