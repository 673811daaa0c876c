/** One PUT, to an S3 server in this process that keeps objects in memory. So a round trip is as short as it can be, and the requests are what counts. */

import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { fence } from '@holdfast/fence-s3';

import { holders, rounds, valueOf, type Pair, type PairSource } from '../pair.ts';
import { Trips } from '../trips.ts';
import { startS3Server } from './s3-server.ts';

const BUCKET = 'bench';

export const s3: PairSource = {
  settings: 'a server of our own in the process of the clients, in memory; an object and a scope for each client',
  open,
};

async function open(_directory: string, clients: number): Promise<Pair> {
  const server = await startS3Server();
  const client = new S3Client({
    endpoint: server.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    maxAttempts: 1,
  });
  const trips = new Trips();
  client.middlewareStack.add((next) => (args) => trips.during(() => next(args)), {
    step: 'deserialize',
    priority: 'low',
  });
  const next = rounds(clients);
  const holderOf = holders(clients);
  const storage = { client, bucket: BUCKET, prefix: 'fenced/' };
  return {
    trips,
    without: (writer) =>
      client.send(new PutObjectCommand({ Bucket: BUCKET, Key: `plain/${writer}`, Body: valueOf(next(writer)) })),
    through: (writer) =>
      fence(storage, `jobs-${writer}`, holderOf(writer), (tx) => tx.write('state', valueOf(next(writer)))),
    pids: () => [],
    async close() {
      client.destroy();
      await server.close();
    },
  };
}
