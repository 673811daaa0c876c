import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientOf, linesOf } from '@holdfast/fence/test/page';
import { expect, it, onTestFinished } from 'vitest';
import { fence, highest, pathOf, read, StaleTokenError } from '../src/index.ts';

it('docs/fences-files.md › its lines do what they say', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-files-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const replaced = { '/var/lib/reports': directory };
  const lines = (token: number): (() => Promise<void>) =>
    linesOf('docs/fences-files.md', { fence, pathOf, read, client: clientOf(token) }, { replaced });
  await lines(7)();
  await lines(7)();
  await expect(lines(5)()).rejects.toBeInstanceOf(StaleTokenError);
  const textOf = async (name: string): Promise<string> =>
    Buffer.from((await read(directory, 'jobs', name)) ?? []).toString();
  expect([await textOf('state.json'), await textOf('report.csv')]).toEqual(['1', 'name,count\n']);
  expect(await highest(directory, 'jobs')).toBe(7);
});
