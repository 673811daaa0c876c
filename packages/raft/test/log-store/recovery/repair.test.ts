import { describe, expect, it } from 'vitest';
import {
  DEFAULT_RAFT_LIMITS,
  encodeConfiguration,
  EntryType,
  initialConfiguration,
  logIndex,
  RaftCore,
  serverId,
  term,
} from '../../../src/core/index.ts';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { inspectWriteAheadLog } from '../../../src/log-store/recovery/inspect.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import { CrashPoints, type PowerCut } from '../support/crash-points.ts';
import { contentOf, entry, entryRange, modelOf, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths, usedBytes } from '../support/wal-fixture.ts';

const REPAIR = { repair: { founders: [serverId(1), serverId(2), serverId(3)] } };
const FOUNDED_ALONE = { repair: { founders: [serverId(1)] } };
const ENTRIES = 6;
const LAST_TERM = 4;

/** Six segments of an entry each; the last tells of term 4, in which an entry of term 2 is the last. */
async function writeLog(machine: Machine): Promise<string[]> {
  const store = await openLog(machine);
  await store.write({ hardState: vote(2), entries: [entry(1, 2, 3_000)] });
  for (let index = 2; index <= ENTRIES; index += 1) await store.write({ entries: [entry(index, 2, 3_000)] });
  await store.write({ hardState: vote(LAST_TERM, 3), entries: [] });
  await store.close();
  machine.crash();
  return segmentPaths(machine);
}

type Damage = readonly [string, (machine: Machine, paths: readonly string[]) => Promise<void> | void, number];

const DAMAGES: readonly Damage[] = [
  ['a flipped bit in the middle', (machine, paths) => machine.flipBit(paths[2] ?? '', 700), 2],
  ['a flipped bit in the first batch', (machine, paths) => machine.flipBit(paths[0] ?? '', 60), 0],
  [
    'a flipped bit in the last batch',
    (machine, paths) => machine.flipBit(paths[5] ?? '', usedBytes(machine, paths[5] ?? '') - 12),
    6,
  ],
  ['zeros for a segment', (machine, paths) => machine.overwrite(paths[3] ?? '', 0, new Uint8Array(SEGMENT_BYTES)), 3],
  ['a missing segment in the middle', (machine, paths) => machine.disk.remove(paths[4] ?? ''), 4],
  ['no last segment', (machine, paths) => machine.disk.remove(paths[5] ?? ''), 5],
  ['a segment cut to nothing', (machine, paths) => emptied(machine, paths[1] ?? ''), 1],
];

async function emptied(machine: Machine, path: string): Promise<void> {
  const file = await machine.disk.open(path, 'existing');
  await file.truncate(0);
  await file.sync();
  await file.close();
}

/** As a leader sends it again, and then some. */
async function refill(store: LogStore, from: number): Promise<void> {
  const last = term((store.durable.voteBan ?? 0) + 1);
  await store.write({ hardState: { ...vote(last), votedFor: vote(last, 0).votedFor }, entries: [] });
  for (let index = from; index <= ENTRIES; index += 1) await store.write({ entries: [entry(index, 2, 3_000)] });
  await store.write({ entries: [entry(ENTRIES + 1, last)] });
}

describe('a log that has lost what was acknowledged, where others have it', () => {
  it('bans the vote above its last term, though the power failed before it was closed', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(2), entries: [entry(1, 2, 3_000)] });
      await store.write({ entries: [entry(2, 2, 3_000)] });
      // A vote: a batch of its own, which begins no segment.
      await store.write({ hardState: vote(LAST_TERM, 3), entries: [] });
      machine.crash();
      machine.flipBit((await segmentPaths(machine))[1] ?? '', 700);
      expect((await openLog(machine, REPAIR)).durable).toMatchObject({ lastIndex: 1, voteBan: LAST_TERM + 1 });
    }));

  it.each(DAMAGES)('%s: is cut there, bans the vote, and takes the rest again', (_, damage, kept) =>
    onMachine(async (machine) => {
      await damage(machine, await writeLog(machine));
      await expect(openLog(machine)).rejects.toThrow(DamagedLogError);
      const store = await openLog(machine, REPAIR);
      expect(store.durable.lastIndex).toBe(kept);
      expect(await contentOf(store)).toEqual(entryRange(1, kept, 2, 3_000));
      // Above every term in which this server may have voted, whatever is left of the log.
      expect(store.durable.voteBan).toBe(LAST_TERM + 1);
      await refill(store, kept + 1);
      machine.crash();

      const again = await openLog(machine, REPAIR);
      expect(again.durable).toMatchObject({ lastIndex: ENTRIES + 1, voteBan: LAST_TERM + 1 });
      expect((await contentOf(again)).slice(0, ENTRIES)).toEqual(entryRange(1, ENTRIES, 2, 3_000));
      await again.liftVoteBan();
      machine.crash();
      const lifted = await openLog(machine);
      expect(lifted.durable.voteBan).toBeUndefined();
      expect(lifted.durable.lastIndex).toBe(ENTRIES + 1);
    }),
  );

  it('bans the vote even when the power fails before any step of the repair', async () => {
    for (const [name, damage, kept] of DAMAGES) {
      for (let step = 0; ; step += 1) {
        let reached = true;
        await onMachine(async (machine) => {
          await damage(machine, await writeLog(machine));
          await machine.disk.syncDirectory('/data/group-0');
          const cut: PowerCut = { step, type: 'before', unsynced: step % 2 === 0 ? 'none' : 'all' };
          const points = new CrashPoints(machine, cut);
          await Promise.race([openLog(machine, REPAIR, points.on), points.cut]);
          reached = points.steps.length > step;
          const store = await openLog(machine, REPAIR);
          expect(store.durable.lastIndex, `${name}, ${points.steps[step]?.what}`).toBe(kept);
          expect(store.durable.voteBan, `${name}, ${points.steps[step]?.what}`).toBeGreaterThan(LAST_TERM);
          await refill(store, kept + 1);
          expect((await modelOf(await openLog(machine, REPAIR))).entries).toHaveLength(ENTRIES + 1);
        });
        if (!reached) break;
      }
    }
  });

  it('does not elect itself again with what is left, though it led before [reverted-leader-reelects-itself]', () =>
    onMachine(async (machine) => {
      const paths = await writeLog(machine);
      machine.flipBit(paths[2] ?? '', 700);
      const { durable } = await openLog(machine, REPAIR);
      const voters = [1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` }));
      const config = { ...DEFAULT_RAFT_LIMITS, seed: 1, id: serverId(1), initial: initialConfiguration(voters) };
      const core = new RaftCore(config, { ...durable, configurations: [] }, 0);
      const effects = [];
      for (let now = 100; now < 60_000; now += 100) {
        effects.push(...core.step([{ type: 'deadline' }], now));
        for (const effect of effects)
          if (effect.type === 'persist') core.step([{ type: 'persisted', seq: effect.seq }], now);
      }
      expect(effects.filter(({ type }) => type === 'send')).toEqual([]);
      expect(core.status).toMatchObject({ role: 'follower', term: LAST_TERM + 1, voteBanned: true });
    }));

  it('is cut again when it is damaged again, and the ban begins later', () =>
    onMachine(async (machine) => {
      const paths = await writeLog(machine);
      machine.flipBit(paths[4] ?? '', 700);
      const first = await openLog(machine, REPAIR);
      await refill(first, 5);
      await first.close();
      machine.flipBit((await segmentPaths(machine))[1] ?? '', 700);
      const second = await openLog(machine, REPAIR);
      expect(second.durable).toMatchObject({ lastIndex: 1, voteBan: LAST_TERM + 3 });
    }));

  it('tells of the ban to who inspects it', () =>
    onMachine(async (machine) => {
      const paths = await writeLog(machine);
      machine.flipBit(paths[2] ?? '', 700);
      await (await openLog(machine, REPAIR)).close();
      const { voteBan, damage, lastIndex } = await inspectWriteAheadLog(LOG_OPTIONS, { disk: machine.disk });
      expect({ voteBan, damage, lastIndex }).toEqual({ voteBan: 5, damage: undefined, lastIndex: logIndex(2) });
      expect(machine.files().filter((path) => path.endsWith('.damaged'))).toHaveLength(4);
    }));
});

function configurationOf(...voters: readonly number[]): Uint8Array {
  return encodeConfiguration(initialConfiguration(voters.map((id) => ({ id: serverId(id), peerAddress: `p${id}:1` }))));
}

/** An entry a segment; the one of index 3 is the configuration with those voters, and no other entry is one. */
async function writeConfigured(machine: Machine, voters: readonly number[]): Promise<string[]> {
  const store = await openLog(machine);
  await store.write({ hardState: vote(2), entries: [] });
  for (let index = 1; index <= ENTRIES; index += 1) {
    const command = { ...entry(index, 2, 3_000), type: EntryType.command };
    const change = { ...command, type: EntryType.configuration, data: configurationOf(...voters) };
    await store.write({ entries: [index === 3 ? change : command] });
    // The next one does not fit beside it.
    if (index === 3) await store.write({ hardState: vote(LAST_TERM - 1), entries: [] });
  }
  await store.close();
  machine.crash();
  return segmentPaths(machine);
}

describe('a damaged log of a cluster that has changed', () => {
  const damage = async (machine: Machine, voters: readonly number[], segment: number): Promise<void> => {
    const paths = await writeConfigured(machine, voters);
    machine.flipBit(paths[segment] ?? '', 700);
  };

  it('is repaired where its server founded the cluster alone and others came', () =>
    onMachine(async (machine) => {
      await damage(machine, [1, 2, 3], 4);
      const { durable } = await openLog(machine, FOUNDED_ALONE);
      expect(durable.lastIndex).toBeGreaterThanOrEqual(3);
      expect(durable.voteBan).toBe(LAST_TERM);
    }));

  it('is repaired when a segment behind the change is missing', () =>
    onMachine(async (machine) => {
      const paths = await writeConfigured(machine, [1, 2]);
      await machine.disk.remove(paths[3] ?? '');
      expect((await openLog(machine, FOUNDED_ALONE)).durable.voteBan).toBe(LAST_TERM);
    }));

  it('is repaired when only a snapshot tells of the others', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(2), entries: [] });
      for (let index = 1; index <= ENTRIES; index += 1) {
        await store.write({ entries: [{ ...entry(index, 2, 3_000), type: EntryType.command }] });
      }
      const position = { index: logIndex(4), term: term(2), configuration: configurationOf(1, 2) };
      const sink = await store.createSnapshot({ ...position, origin: 'taken' });
      await sink.write(new Uint8Array(10));
      await sink.finish();
      await store.close();
      const paths = await segmentPaths(machine);
      machine.flipBit(paths[4] ?? '', 700);
      expect((await openLog(machine, FOUNDED_ALONE)).durable.voteBan).toBe(3);
    }));

  it.each([
    ['the change to more servers is lost with it', [1, 2, 3], 1, FOUNDED_ALONE],
    ['its server is the last that is left', [1], 4, REPAIR],
    ['its server always was alone', [1], 4, FOUNDED_ALONE],
  ] as const)('is refused, and nothing is changed, when %s', (_, voters, segment, options) =>
    onMachine(async (machine) => {
      await damage(machine, voters, segment);
      const before = machine.files().map((path) => [path, Buffer.from(machine.bytes(path)).toString('base64')]);
      await expect(openLog(machine, options)).rejects.toThrow(DamagedLogError);
      expect(machine.files().map((path) => [path, Buffer.from(machine.bytes(path)).toString('base64')])).toEqual(
        before,
      );
    }),
  );
});

describe('a damaged log is refused, and nothing is changed,', () => {
  const refuses = (machine: Machine): Promise<void> =>
    expect(openLog(machine, REPAIR)).rejects.toThrow(DamagedLogError);

  it('when nothing tells in which terms the server may have voted', () =>
    onMachine(async (machine) => {
      const paths = await writeLog(machine);
      machine.flipBit(paths[2] ?? '', 700);
      await machine.disk.remove('/data/group-0/last-segment');
      const before = machine.files();
      await refuses(machine);
      expect(machine.files()).toEqual(before);
    }));

  it('when there is a segment that this log did not make', () =>
    onMachine(async (machine) => {
      const paths = await writeLog(machine);
      machine.flipBit(paths[2] ?? '', 700);
      await machine.createFile('/data/group-0/copy.wal', new Uint8Array(10));
      const before = machine.files();
      await refuses(machine);
      expect(machine.files()).toEqual(before);
    }));

  it('when the ban itself cannot be read', () =>
    onMachine(async (machine) => {
      const paths = await writeLog(machine);
      machine.flipBit(paths[2] ?? '', 700);
      await (await openLog(machine, REPAIR)).close();
      machine.flipBit('/data/group-0/vote-ban', 12);
      await refuses(machine);
    }));
});
