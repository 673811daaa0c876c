import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryStore } from '../src/directory.ts';
import { collect, fence, highest, install, pathOf, read } from '../src/index.ts';

const root = mkdtempSync(join(tmpdir(), 'holdfast-fence-files-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let directory: string;
let places = 0;
beforeEach(() => {
  places += 1;
  directory = join(root, `place-${places}`);
  mkdirSync(directory);
});

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

const textOf = (data: Uint8Array | undefined): string | undefined =>
  data === undefined ? undefined : Buffer.from(data).toString();
const current = async (name: string): Promise<string | undefined> => textOf(await read(directory, 'jobs', name));
const inFolder = (name: string): readonly string[] =>
  readdirSync(join(new DirectoryStore(directory).folder('jobs'), name));

async function add(holder: { readonly token: number; readonly floor?: number }): Promise<number> {
  return await fence(directory, 'jobs', holder, async (tx) => {
    const count = Number(textOf(await tx.read('count')) ?? '0') + 1;
    await tx.write('count', `${count}`);
    return count;
  });
}

describe('a file that is read, changed and written under a lock', () => {
  it('loses no change of many at once', async () => {
    await Promise.all(Array.from({ length: 12 }, () => add({ token: 7 })));
    expect(await current('count')).toBe('12');
    await Promise.all(Array.from({ length: 6 }, (_, place) => add({ token: 10 + place, floor: 8 })));
    expect(await current('count')).toBe('18');
    expect(await highest(directory, 'jobs')).toBe(8);
  });

  it('is published with all that the body wrote, or with nothing of it', async () => {
    await fence(directory, 'jobs', { token: 5 }, async (tx) => {
      await tx.write('a', 'one');
      await tx.write('b', new Uint8Array([0, 255]));
    });
    const error = new Error('of the body');
    const failed = fence(directory, 'jobs', { token: 5 }, async (tx) => {
      await tx.write('a', 'two');
      tx.remove('b');
      throw error;
    });
    expect(await failureOf(failed)).toBe(error);
    expect(await current('a')).toBe('one');
    expect(await read(directory, 'jobs', 'b')).toEqual(Buffer.from([0, 255]));
  });

  it('keeps its number of manifests small, and loses none that somebody may be about to replace', async () => {
    await add({ token: 7 });
    const folder = join(new DirectoryStore(directory).folder('jobs'), 'versions');
    const [last = ''] = inFolder('versions').toReversed();
    const number = (count: number): string => join(folder, `${String(count).padStart(16, '0')}.json`);
    for (let count = 3; count < 768; count += 1) writeFileSync(number(count), readFileSync(join(folder, last)));
    await add({ token: 7 });
    expect(inFolder('versions').length).toBe(768 - 255);
    expect(await current('count')).toBe('2');
    expect(await add({ token: 7 })).toBe(3);
  });

  it('is read as it is, and not as it was seen last, when its manifests were put back from a backup', async () => {
    await add({ token: 7 });
    expect(await current('count')).toBe('1');
    const versions = join(new DirectoryStore(directory).folder('jobs'), 'versions');
    const backup = readFileSync(join(versions, inFolder('versions').toSorted().at(-1) ?? ''));
    await add({ token: 7 });
    expect(await current('count')).toBe('2');
    const newest = join(versions, inFolder('versions').toSorted().at(-1) ?? '');
    rmSync(newest);
    writeFileSync(newest, backup);
    expect(await current('count')).toBe('1');
    expect(await add({ token: 7 })).toBe(2);
  });

  it('has a path for other programs, whose content never changes', async () => {
    await add({ token: 5 });
    const before = (await pathOf(directory, 'jobs', 'count')) ?? '';
    expect(readFileSync(before, 'utf8')).toBe('1');
    expect(statSync(before).mode & 0o222).toBe(0);
    await add({ token: 5 });
    expect(readFileSync(before, 'utf8')).toBe('1');
    expect(await pathOf(directory, 'jobs', 'count')).not.toBe(before);
    expect(await pathOf(directory, 'jobs', 'nothing')).toBeUndefined();
  });
});

describe('a working copy', () => {
  it('is changed in place, read as it is, and published at the end of the body', async () => {
    await fence(directory, 'jobs', { token: 5 }, (tx) => tx.write('log', 'one\n'));
    await fence(directory, 'jobs', { token: 5 }, async (tx) => {
      const path = await tx.workingCopy('log');
      expect(await tx.workingCopy('log')).toBe(path);
      appendFileSync(path, 'two\n');
      expect(textOf(await tx.read('log'))).toBe('one\ntwo\n');
      appendFileSync(path, 'three\n');
      appendFileSync(await tx.workingCopy('fresh'), 'new');
      expect(await current('log')).toBe('one\n');
    });
    expect(await current('log')).toBe('one\ntwo\nthree\n');
    expect(await current('fresh')).toBe('new');
    expect(inFolder('work')).toEqual([]);
  });

  it('leaves a descriptor that stays open with a file that nobody reads', async () => {
    let descriptor = -1;
    await fence(directory, 'jobs', { token: 5 }, async (tx) => {
      descriptor = openSync(await tx.workingCopy('log'), 'a');
      writeSync(descriptor, 'mine\n');
    });
    writeSync(descriptor, 'late\n');
    expect(await current('log')).toBe('mine\n');
    await fence(directory, 'jobs', { token: 7 }, async (tx) => appendFileSync(await tx.workingCopy('log'), 'newer\n'));
    writeSync(descriptor, 'later\n');
    closeSync(descriptor);
    expect(await current('log')).toBe('mine\nnewer\n');
  });

  it('is given up where the body is: for a whole file, a removal, or an error', async () => {
    await fence(directory, 'jobs', { token: 5 }, async (tx) => {
      appendFileSync(await tx.workingCopy('a'), 'in place');
      await tx.write('a', 'whole');
      appendFileSync(await tx.workingCopy('b'), 'in place');
      expect(tx.remove('b')).toBe(true);
    });
    expect(await current('a')).toBe('whole');
    expect(await current('b')).toBeUndefined();
    const failed = fence(directory, 'jobs', { token: 5 }, async (tx) => {
      await tx.workingCopy('a');
      throw new Error('of the body');
    });
    expect(await failureOf(failed)).toMatchObject({ message: 'of the body' });
    expect(await current('a')).toBe('whole');
  });

  it('of a holder that is stale by the end of its body is not published', async () => {
    const failed = fence(directory, 'jobs', { token: 5 }, async (tx) => {
      appendFileSync(await tx.workingCopy('a'), 'stale');
      await install(directory, 'jobs', { token: 7 });
    });
    expect(await failureOf(failed)).toMatchObject({ code: 'STALE_TOKEN', token: 5, highest: 7 });
    expect(await current('a')).toBeUndefined();
  });
});

describe('the directory', () => {
  it('is there, and is none that is made by mistake', async () => {
    const nowhere = join(directory, 'nowhere');
    for (const call of [
      () => install(nowhere, 'jobs', { token: 5 }),
      () => read(nowhere, 'jobs', 'a'),
      () => highest(nowhere, 'jobs'),
    ]) {
      expect(await failureOf(call())).toMatchObject({ code: 'SCHEMA_MISSING' });
    }
    const file = join(directory, 'file');
    writeFileSync(file, '');
    expect(await failureOf(install(file, 'jobs', { token: 5 }))).toMatchObject({ code: 'RESOURCE' });
  });

  it.each(['', 'a\0b', 5, null, undefined, {}])('is no %j', async (wrong) => {
    const path = wrong as string;
    for (const call of [
      fence(path, 'jobs', { token: 5 }, async () => 1),
      install(path, 'jobs', { token: 5 }),
      highest(path, 'jobs'),
      read(path, 'jobs', 'a'),
      pathOf(path, 'jobs', 'a'),
      collect(path, 'jobs'),
    ]) {
      expect(await failureOf(call)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it.each([-1, 0, 1.5, Number.NaN, '5', 2 ** 53, 5n, null, undefined])(
    'is not touched for the token %s',
    async (token) => {
      const wrong = { token } as { readonly token: number };
      expect(await failureOf(add(wrong))).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  it.each([
    ['{"format":2}', 'SCHEMA_VERSION'],
    ['{"format":1,"floor":1.5,"revision":1,"recent":[],"files":[]}', 'RESOURCE'],
    ['', 'RESOURCE'],
  ])('has no manifest that is guessed at: %s', async (text, code) => {
    await add({ token: 5 });
    writeFileSync(join(new DirectoryStore(directory).folder('jobs'), 'versions/0000000000000003.json'), text);
    expect(await failureOf(add({ token: 5 }))).toMatchObject({ code });
  });

  it('holds every scope and every name within itself', async () => {
    for (const scope of ['..', '../../x', 'a/b', 'a_b', '.', 'A/b', '\n']) {
      await fence(directory, scope, { token: 5 }, (tx) => tx.write('../../../name', scope));
      expect(textOf(await read(directory, scope, '../../../name'))).toBe(scope);
    }
    expect(readdirSync(root).filter((name) => !name.startsWith('place-'))).toEqual([]);
    expect(readdirSync(directory).length).toBe(7);
  });

  it.each(['before the first write', 'between two writes', 'before the end of the body'])(
    'that goes away %s, as a disk that is unmounted, is told, and is not made anew',
    async (when) => {
      await add({ token: 5 });
      const gone = (place: string): void => {
        if (place === when) rmSync(directory, { recursive: true });
      };
      const call = fence(directory, 'jobs', { token: 5 }, async (tx) => {
        gone('before the first write');
        await tx.write('a', 'one');
        gone('between two writes');
        await tx.write('b', 'two');
        gone('before the end of the body');
      });
      const error = await failureOf(call);
      expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_MISSING', indeterminate: false });
      expect((error as Error).message).toContain('see whether its disk is mounted');
      expect(existsSync(directory)).toBe(false);
    },
  );

  it('is collected of what older holders left, and of nothing else', async () => {
    await fence(directory, 'jobs', { token: 5 }, async (tx) => {
      await tx.write('a', 'one');
      await tx.write('b', 'two');
    });
    await fence(directory, 'jobs', { token: 5 }, (tx) => tx.write('a', 'newer'));
    writeFileSync(join(new DirectoryStore(directory).folder('jobs'), 'work/0000000000000005-killed'), 'left');
    expect(await collect(directory, 'jobs')).toBe(0);
    await install(directory, 'jobs', { token: 7 });
    expect(await collect(directory, 'jobs')).toBe(2);
    expect(await current('a')).toBe('newer');
    expect(inFolder('data').length).toBe(2);
    expect(inFolder('work')).toEqual([]);
  });
});

describe('a publisher that was stopped', () => {
  it('does not take a number that was used and collected for a free one', async () => {
    const store = new DirectoryStore(directory);
    await install(directory, 'jobs', { token: 5 });
    const read5 = await store.load('jobs');
    // It stops here, with the number 2 in mind.
    await install(directory, 'jobs', { token: 7 });
    for (let count = 0; count < 20; count += 1) await add({ token: 7 });
    rmSync(join(store.folder('jobs'), 'versions/0000000000000002.json'));
    const stale = { floor: 5, revision: 2, recent: ['stale'], files: new Map() };
    expect(await store.publish('jobs', stale, read5)).toBe(false);
    expect(await current('count')).toBe('20');
    expect(await highest(directory, 'jobs')).toBe(7);
  });
});
