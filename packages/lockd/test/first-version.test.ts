/**
 * What commit 56fd6c8, before there were features and state versions, wrote and sent: `fixtures/first-version` has its bytes, one of each
 * message and command, and a data directory of a server with sessions, nodes, a hold and a wait. Its entries were rewritten when the log
 * got the hashes of secrets and the servers through which entries came: before the first release nothing reads the older form.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  commandName,
  CommandType,
  decodeClientFrame,
  decodeCommand,
  decodeServerFrame,
  encodeClientFrame,
  encodeCommand,
  encodeServerFrame,
  pack,
  type CommandName,
} from '@holdfast/protocol';
import {
  decodePeerFrame,
  EntryType,
  helloVersion,
  logIndex,
  openDataDirectory,
  openWriteAheadLog,
  PEER_PROTOCOL_VERSION,
  raftItem,
  serverId,
} from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { StateMachine } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { decodePeerMessages, encodePeerMessages } from '../src/peers/peer-message.ts';

const RECORDED = fileURLToPath(new URL('fixtures/first-version', import.meta.url));

interface Recorded {
  readonly value: { readonly type: string };
  readonly bytes: string;
}

type Group = 'commands' | 'client' | 'server' | 'peerHello' | 'raft' | 'peer';

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

const CODECS: Readonly<Record<Exclude<Group, 'peerHello'>, Codec>> = {
  commands: {
    decode: (bytes, recorded) => decodeCommand(commandOf(recorded), bytes),
    encode: (command) => encodeCommand(command),
  },
  client: { decode: (bytes) => decodeClientFrame(bytes)[0], encode: (message) => encodeClientFrame([message]) },
  server: { decode: (bytes) => decodeServerFrame(bytes)[0], encode: (message) => encodeServerFrame([message]) },
  raft: {
    decode: (bytes) => {
      const [item] = decodePeerFrame(bytes);
      return item?.type === 'raft' ? item.message : item;
    },
    encode: (message) => pack([raftItem(message)]),
  },
  peer: { decode: (bytes) => decodePeerMessages(bytes)[0], encode: (message) => encodePeerMessages([message]) },
};

/** These have got fields at their ends since. */
const GROWN: ReadonlyMap<string, object> = new Map([
  ['hello', { features: 0, required: 0 }],
  ['welcome', { features: 0, required: 0, term: 0, spreadMs: 0 }],
  ['leader', { term: 0, spreadMs: 0 }],
]);

describe.each(Object.entries(CODECS))('the first version’s %s', (group, { decode, encode }) => {
  it.each(frames[group as Group].map((recorded) => [recorded.value.type, recorded] as const))(
    '%s is understood, and written as it was',
    (type, recorded) => {
      const bytes = bytesOf(recorded.bytes);
      const decoded = decode(bytes, recorded);
      expect(decoded).toMatchObject(recorded.value);
      const grown = GROWN.get(type);
      if (grown !== undefined) expect(decoded).toMatchObject(grown);
      else expect(hexOf(encode(decoded as never, recorded))).toBe(recorded.bytes);
    },
  );
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
      const { index, fold, counts, held } = readJson('expected.json') as Record<string, unknown>;
      expect({ index: machine.appliedIndex, fold: machine.fold, counts: machine.counts }).toEqual({
        index,
        fold,
        counts,
      });
      expect(machine.query({ type: 'lock', lock: 'held' })).toMatchObject({ queue: [{ token: held }, { token: 0 }] });
      expect(machine.version).toBe(1);
      expect(readFileSync(join(scratch, 'identity.json'))).toEqual(
        readFileSync(join(RECORDED, 'data', 'identity.json')),
      );
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
});
