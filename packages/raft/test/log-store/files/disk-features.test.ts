import { hasFeature } from '@holdfast/protocol';
import { silentLogger, type Disk } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { EntryType, logIndex, serverId, term, type Entry } from '../../../src/core/index.ts';
import { openDataDirectory, readIdentity } from '../../../src/log-store/directory/data-directory.ts';
import { DataDirectoryError } from '../../../src/log-store/errors/data-directory-error.ts';
import {
  DISK_FEATURES,
  DiskFeature,
  featuresOfEntries,
  RecordedFeatures,
} from '../../../src/log-store/files/disk-features.ts';
import {
  batchSeed,
  decodeSegmentHeader,
  encodeBatch,
  logSeed,
  type SegmentHeader,
} from '../../../src/log-store/format/frame.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import { openWriteAheadLog } from '../../../src/log-store/wal/write-ahead-log.ts';
import { CrashPoints } from '../support/crash-points.ts';
import { entryRange, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog } from '../support/wal-fixture.ts';

const PATH = '/srv/holdfast';
const LOG = `${PATH}/group-0`;
const IDENTITY = `${PATH}/identity.json`;
const SERVER = { clusterId: 'local', serverId: serverId(1) };
const MEMBERS = [1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `127.0.0.1:720${id}` }));

/** Of no other type: those demand something by themselves. */
function commands(from: number, to: number, inTerm: number, bytes?: number): Entry[] {
  return entryRange(from, to, inTerm, bytes).map((entry) => ({ ...entry, type: EntryType.command }));
}

interface Opened {
  readonly store: LogStore;
  close(): Promise<void>;
}

async function open(machine: Machine, disk: Disk = machine.disk): Promise<Opened> {
  const world = { disk, random: machine.random, logger: silentLogger };
  const directory = await openDataDirectory({ ...SERVER, path: PATH, members: MEMBERS, segmentBytes: 4_096 }, world);
  const { incarnation, logDirectory, features } = directory;
  const options = {
    ...SERVER,
    incarnation,
    directory: logDirectory,
    features,
    segmentBytes: 4_096,
    repair: { founders: [] },
  };
  const store = await openWriteAheadLog(options, world);
  const close = async (): Promise<void> => {
    await store.close();
    await directory.release();
  };
  return { store, close };
}

async function requiredIn(machine: Machine): Promise<number> {
  return (await readIdentity(PATH, machine))?.required ?? NaN;
}

function formatVersionIn(machine: Machine): unknown {
  const content: unknown = JSON.parse(new TextDecoder().decode(machine.bytes(IDENTITY)));
  return (content as { readonly formatVersion: unknown }).formatVersion;
}

/** What a program that looks at the files only would have to know. */
function usedIn(machine: Machine): number {
  const names = machine.files().filter((path) => path.startsWith(`${LOG}/`));
  const segments = names.filter((path) => path.endsWith('.wal'));
  const first = segments.toSorted()[0] ?? '';
  const restarted = segments.some((path) => {
    const bytes = machine.bytes(path);
    return bytes.length >= 16 && new DataView(bytes.buffer, bytes.byteOffset).getFloat64(8, true) === 2;
  });
  return (
    (first.startsWith(`${LOG}/000000000001-`) ? 0 : DiskFeature.compacted) +
    (restarted ? DiskFeature.restart : 0) +
    (names.includes(`${LOG}/vote-ban`) ? DiskFeature.voteBan : 0)
  );
}

async function fill(store: LogStore): Promise<void> {
  await store.write({ hardState: vote(1), entries: [] });
  for (let first = 1; first <= 16; first += 5) await store.write({ entries: commands(first, first + 4, 1, 700) });
}

async function takeSnapshot(store: LogStore, index: number, origin: 'taken' | 'received'): Promise<void> {
  const meta = { index: logIndex(index), term: term(1), configuration: new Uint8Array(0), origin };
  const sink = await store.createSnapshot(meta);
  await sink.write(new Uint8Array(100));
  await sink.finish();
}

interface Use {
  readonly feature: number;
  readonly prepare: (machine: Machine) => Promise<void>;
  readonly use: (store: LogStore) => Promise<void>;
}

const USES: Readonly<Record<string, Use>> = {
  'the removal of segments behind a snapshot': {
    feature: DiskFeature.compacted,
    prepare: async () => {},
    use: async (store) => {
      await takeSnapshot(store, 15, 'taken');
      await store.compact(logIndex(15));
    },
  },
  'a log that goes on behind a received snapshot': {
    feature: DiskFeature.restart + DiskFeature.compacted,
    prepare: async () => {},
    use: async (store) => {
      await takeSnapshot(store, 40, 'received');
      const position = { index: logIndex(40), term: term(1) };
      await store.write({ snapshot: position, entries: commands(41, 42, 1) });
    },
  },
  'a ban on voting': {
    feature: DiskFeature.voteBan,
    prepare: async (machine) => {
      const path = machine.files().find((name) => name.includes('/000000000002-')) ?? '';
      machine.flipBit(path, 700);
    },
    use: async () => {},
  },
};

describe.each(Object.entries(USES))('%s', (_, { feature, prepare, use }) => {
  it('is said to later programs, whenever the power fails, before it is there', async () => {
    let said = 0;
    for (let step = 0; ; step += 1) {
      let reached = true;
      await onMachine(async (machine) => {
        const first = await open(machine);
        await fill(first.store);
        await first.close();
        await prepare(machine);
        machine.crash();
        expect([await requiredIn(machine), formatVersionIn(machine)]).toEqual([0, 1]);

        const points = new CrashPoints(machine, { step, type: 'before', unsynced: step % 2 === 0 ? 'none' : 'all' });
        const work = async (): Promise<void> => use((await open(machine, points.on(machine.disk))).store);
        await Promise.race([work(), points.cut]);
        reached = points.steps.length > step;
        const used = usedIn(machine);
        const required = await requiredIn(machine);
        const what = points.steps[step]?.what ?? 'nothing';
        expect(used === 0 || hasFeature(required, used), `${used} in ${required}, before ${what}`).toBe(true);
        // A program that knows only the first version of identity.json looks for no demand.
        expect(formatVersionIn(machine)).toBe(required === 0 ? 1 : 2);
        if (required === feature) said += 1;
        machine.crash();
        await (await open(machine)).close();
      });
      if (!reached) break;
    }
    expect(said).toBeGreaterThan(1);
  });
});

describe('a data directory', () => {
  it('demands configuration entries before the first one, and so does every segment that begins later', () =>
    onMachine(async (machine) => {
      const first = await open(machine);
      await fill(first.store);
      expect(await requiredIn(machine)).toBe(0);
      const [changing] = commands(21, 21, 1, 700);
      if (changing === undefined) throw new Error('no entry was made');
      await first.store.write({ entries: [{ ...changing, type: EntryType.configuration }] });
      expect(await requiredIn(machine)).toBe(DiskFeature.configuration);
      await first.store.write({ entries: commands(22, 27, 1, 700) });
      await first.close();
      const last = machine.files().findLast((path) => path.endsWith('.wal')) ?? '';
      expect(new DataView(machine.bytes(last).buffer).getFloat64(8, true)).toBe(2);
      await (await open(machine)).close();
      expect(await requiredIn(machine)).toBe(DiskFeature.configuration);
    }));

  it('demands nothing while nothing new is used, so that the version before can open it again', () =>
    onMachine(async (machine) => {
      const first = await open(machine);
      const made = machine.bytes(IDENTITY);
      await fill(first.store);
      await takeSnapshot(first.store, 10, 'taken');
      // No segment ends before that entry, so that none is removed.
      await first.store.compact(logIndex(2));
      await first.close();
      expect(machine.bytes(IDENTITY)).toEqual(made);
      const { formatVersion, ...content } = JSON.parse(new TextDecoder().decode(made)) as Record<string, unknown>;
      expect(formatVersion).toBe(1);
      expect(Object.keys(content).toSorted()).toEqual(['clusterId', 'incarnation', 'members', 'serverId']);
    }));

  it('demands the ban no longer when it has ended, also when the power fails in between', () =>
    onMachine(async (machine) => {
      const first = await open(machine);
      await fill(first.store);
      await first.close();
      await USES['a ban on voting']?.prepare(machine);
      const banned = await open(machine);
      expect(await requiredIn(machine)).toBe(DiskFeature.voteBan);
      await banned.store.liftVoteBan();
      expect([await requiredIn(machine), formatVersionIn(machine)]).toEqual([0, 1]);
      await banned.close();

      const crashed = await open(machine);
      const features = new RecordedFeatures(0, async (required) => {
        const content = { ...(await readIdentity(PATH, machine)), formatVersion: 2, required };
        await machine.disk.remove(IDENTITY);
        await machine.createFile(IDENTITY, new TextEncoder().encode(JSON.stringify(content)));
      });
      await features.demand(DiskFeature.voteBan);
      await crashed.close();
      await (await open(machine)).close();
      expect(await requiredIn(machine)).toBe(0);
    }));

  it('says again what is used in it when its identity came from an older copy', () =>
    onMachine(async (machine) => {
      const first = await open(machine);
      const copy = machine.bytes(IDENTITY).slice();
      await fill(first.store);
      await takeSnapshot(first.store, 15, 'taken');
      await first.store.compact(logIndex(15));
      await first.close();
      await machine.disk.remove(IDENTITY);
      await machine.createFile(IDENTITY, copy);
      await (await open(machine)).close();
      expect(await requiredIn(machine)).toBe(DiskFeature.compacted);
    }));
});

describe('demands that come at the same time', () => {
  it('are all recorded, those behind one that failed as well', async () => {
    const written: number[] = [];
    let failing = true;
    const features = new RecordedFeatures(0, async (required) => {
      if (failing) {
        failing = false;
        throw new Error('the disk has failed');
      }
      written.push(required);
    });
    const failed = features.demand(DiskFeature.restart);
    const others = [features.demand(DiskFeature.compacted), features.demand(DiskFeature.voteBan)];
    await expect(failed).rejects.toThrow('the disk has failed');
    await Promise.all([...others, features.demand(DiskFeature.compacted)]);
    expect(written).toEqual([DiskFeature.compacted, DiskFeature.compacted + DiskFeature.voteBan]);
    expect(features.required).toBe(DiskFeature.compacted + DiskFeature.voteBan);
  });
});

describe('the header of a segment', () => {
  const HEADER: SegmentHeader = {
    features: 0,
    number: 1,
    serverId: LOG_OPTIONS.serverId,
    firstIndex: logIndex(1),
    previousTerm: term(0),
    previousEnd: 0,
    clusterId: LOG_OPTIONS.clusterId,
    incarnation: LOG_OPTIONS.incarnation,
  };
  const batch = (features: number): Uint8Array =>
    encodeBatch(
      { header: { ...HEADER, features }, hardState: vote(1), entries: [] },
      batchSeed(logSeed(HEADER.incarnation), 1, 0),
    );
  const payload = (bytes: Uint8Array): Uint8Array =>
    bytes.subarray(8, 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true));

  it('is that of version 1 while it demands nothing, and has its demands behind those fields otherwise', () => {
    const plain = payload(batch(0));
    const demanding = payload(batch(DISK_FEATURES));
    expect(new DataView(plain.buffer, plain.byteOffset).getFloat64(0, true)).toBe(1);
    expect(demanding.length).toBe(plain.length + 8);
    expect(demanding.subarray(8, plain.length)).toEqual(plain.subarray(8));
    expect(decodeSegmentHeader(plain)).toEqual(HEADER);
    expect(decodeSegmentHeader(demanding)).toEqual({ ...HEADER, features: DISK_FEATURES });
  });

  it('with a demand that this program does not know keeps it from the log, and nothing is changed', () =>
    onMachine(async (machine) => {
      await (await openLog(machine)).close();
      const path = machine.files().find((name) => name.endsWith('.wal')) ?? '';
      await machine.overwrite(path, 0, batch(2 ** 40));
      const before = machine.bytes(path).slice();
      const refused = await openLog(machine, { repair: { founders: [] } }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(DataDirectoryError);
      expect(refused).toMatchObject({
        code: 'UNSUPPORTED_FORMAT',
        message: expect.stringContaining('it demands features that this program does not know (bit 40)'),
      });
      expect(machine.bytes(path)).toEqual(before);
    }));

  it('has its demands said by the directory again, though nothing else in the log shows them', () =>
    onMachine(async (machine) => {
      await (await openLog(machine)).close();
      const path = machine.files().find((name) => name.endsWith('.wal')) ?? '';
      await machine.overwrite(path, 0, batch(DiskFeature.compacted));
      const features = new RecordedFeatures(0, async () => {});
      await (await openLog(machine, { features })).close();
      expect(features.required).toBe(DiskFeature.compacted);
    }));
});

describe('entries', () => {
  it('demand something only when they are of a type that the first version did not have', () => {
    const [plain] = commands(1, 1, 1);
    if (plain === undefined) throw new Error('no entry was made');
    expect(featuresOfEntries([plain, { ...plain, type: EntryType.noop }])).toBe(0);
    expect(featuresOfEntries([plain, { ...plain, type: EntryType.configuration }])).toBe(DiskFeature.configuration);
  });
});
