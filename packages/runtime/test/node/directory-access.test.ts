import { chmod, chown, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodeDisk } from '../../src/node/index.ts';

const disk = nodeDisk();
const NOBODY = 65_534;
let directory: string;
let umask: number;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-access-'));
  umask = process.umask(0);
});
afterEach(async () => {
  process.umask(umask);
  await rm(directory, { recursive: true });
});

async function modeOf(path: string): Promise<string> {
  return ((await lstat(path)).mode & 0o777).toString(8);
}

describe('what the disk makes', () => {
  it('is for its user alone, whatever the umask', async () => {
    const made = join(directory, 'parent', 'child');
    await disk.makeDirectory(made);
    expect([await modeOf(join(directory, 'parent')), await modeOf(made)]).toEqual(['700', '700']);
    const file = await disk.open(join(made, 'file'), 'create');
    await file.close();
    expect(await modeOf(file.path)).toBe('600');
    const lock = await disk.lockDirectory(made);
    await disk.restrictAccess(made).then(({ restricted }) => expect(restricted).toEqual([]));
    await lock.release();
  });
});

describe('a directory into which others can look', () => {
  it('is taken from them with its entries, which are named', async () => {
    await chmod(directory, 0o755);
    await writeFile(join(directory, 'file'), 'x', { mode: 0o664 });
    await writeFile(join(directory, 'private'), 'x', { mode: 0o600 });
    await mkdir(join(directory, 'inner'), { mode: 0o775 });
    await writeFile(join(directory, 'inner', 'file'), 'x', { mode: 0o644 });
    await symlink('/etc/passwd', join(directory, 'link'));
    const before = await modeOf('/etc/passwd');
    const { restricted, open } = await disk.restrictAccess(directory);
    expect(restricted).toEqual([directory, join(directory, 'file'), join(directory, 'inner')]);
    expect(open).toEqual([]);
    expect(await modeOf(directory)).toBe('700');
    expect(await modeOf(join(directory, 'file'))).toBe('600');
    expect(await modeOf(join(directory, 'inner', 'file'))).toBe('644');
    expect(await modeOf('/etc/passwd')).toBe(before);
    expect((await disk.restrictAccess(directory)).restricted).toEqual([]);
  });

  it('is told of when it is not there', async () => {
    await expect(disk.restrictAccess(join(directory, 'nothing'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'is refused when it belongs to somebody else, and its files that do are named (needs root)',
    async () => {
      await chmod(directory, 0o755);
      await writeFile(join(directory, 'file'), 'x', { mode: 0o644 });
      const asNobody = async <T>(work: () => Promise<T>): Promise<T> => {
        process.seteuid?.(NOBODY);
        try {
          return await work();
        } finally {
          process.seteuid?.(0);
        }
      };
      const getuid = vi.spyOn(process, 'getuid').mockReturnValue(NOBODY);
      try {
        const refused = asNobody(() => disk.restrictAccess(directory));
        await expect(refused).rejects.toMatchObject({ code: 'PERMISSION', message: expect.stringContaining('chown') });
        await chown(directory, NOBODY, NOBODY);
        expect(await asNobody(() => disk.restrictAccess(directory))).toEqual({
          restricted: [directory],
          open: [join(directory, 'file')],
        });
      } finally {
        getuid.mockRestore();
      }
    },
  );
});
