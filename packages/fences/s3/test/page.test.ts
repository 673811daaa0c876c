import { clientOf, linesOf } from '@holdfast/fence/test/page';
import { expect, it, onTestFinished } from 'vitest';
import { fence, highest, read, StaleTokenError, verifyStorage } from '../src/index.ts';
import { clientOf as s3ClientOf } from './support/cells.ts';
import { startS3Server } from './support/s3-server.ts';

it('docs/fences-s3.md › its lines do what they say, on the server of these tests', async () => {
  const server = await startS3Server(['reports']);
  const client = s3ClientOf(server);
  onTestFinished(async () => {
    client.destroy();
    await server.close();
  });
  const given = (token: number): Readonly<Record<string, unknown>> => ({
    fence,
    verifyStorage,
    // A constructor may give another object.
    S3Client: function Given() {
      return client;
    },
    client: clientOf(token),
  });
  await linesOf('docs/fences-s3.md', given(7))();
  await linesOf('docs/fences-s3.md', given(7))();
  await expect(linesOf('docs/fences-s3.md', given(5))()).rejects.toBeInstanceOf(StaleTokenError);
  const storage = { client, bucket: 'reports', prefix: 'fenced/' };
  const textOf = async (name: string): Promise<string> =>
    Buffer.from((await read(storage, 'jobs', name)) ?? []).toString();
  expect([await textOf('state.json'), await textOf('report.csv')]).toEqual(['1', 'name,count\n']);
  expect(await highest(storage, 'jobs')).toBe(7);
});
