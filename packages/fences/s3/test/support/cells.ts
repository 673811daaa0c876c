/** The files that the suite writes, through the fence or through a broken one. */

import { S3Client } from '@aws-sdk/client-s3';
import type { FencedResource, Holder, SlowWrite } from '@holdfast/fence-conformance';
import { RULES, type Rules } from '@holdfast/fence-manifest';
import { fenceBy, installBy } from '../../src/fence.ts';
import { read, type S3Storage } from '../../src/index.ts';
import type { S3Server } from './s3-server.ts';

/** Names as nobody would choose them. */
const ODD_NAMES = ['..', 'a/../b', "O'Brien & sons", '%2F', 'ü/💡', '?x=1#y', 'x'.repeat(190)];
let names = 0;

export const BUCKET = 'fenced';

export function clientOf(server: S3Server, maxAttempts = 3): S3Client {
  return new S3Client({
    endpoint: server.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts,
  });
}

/** @param rules those of the fence, or broken ones */
export function cellsOn(server: S3Server, rules: Rules = RULES): () => Promise<FencedResource> {
  const resource = (): FencedResource => {
    const client = clientOf(server);
    const storage: S3Storage = { client, bucket: BUCKET, prefix: 'cells/' };
    return {
      cells: true,
      scope: () => {
        names += 1;
        return `${ODD_NAMES[names % ODD_NAMES.length]}${names}`;
      },
      write: (scope, holder, value, cell = 'a') =>
        fenceBy(rules, storage, scope, holder, (tx) => tx.write(cell, value), {}),
      read: async (scope, _holder, cell = 'a') => {
        const data = await read(storage, scope, cell);
        return data === undefined ? null : Buffer.from(data).toString();
      },
      install: (scope, holder) => installBy(rules, storage, scope, holder, {}),
      slowWrite: (scope, holder, value) => slowWrite(rules, storage, scope, holder, value),
      other: async () => resource(),
      restart: () => server.restart(false),
      crash: () => server.restart(true),
      close: async () => client.destroy(),
    };
  };
  return async () => resource();
}

class Abandoned extends Error {}

async function slowWrite(
  rules: Rules,
  storage: S3Storage,
  scope: string,
  holder: Holder,
  value: string,
): Promise<SlowWrite> {
  let goOn: () => void = () => undefined;
  let giveUp: (error: Error) => void = () => undefined;
  const gate = new Promise<void>((resolve, reject) => {
    goOn = resolve;
    giveUp = reject;
  });
  gate.catch(() => undefined);
  let whole: Promise<void> = Promise.resolve();
  await new Promise<void>((arrived, failed) => {
    whole = fenceBy(
      rules,
      storage,
      scope,
      holder,
      async (tx) => {
        await tx.write('a', value);
        arrived();
        await gate;
      },
      {},
    );
    whole.catch(failed);
  });
  return {
    finish: async () => {
      goOn();
      await whole;
    },
    abandon: async () => {
      giveUp(new Abandoned());
      await whole.catch(() => undefined);
    },
  };
}
