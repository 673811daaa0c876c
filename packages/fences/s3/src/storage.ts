/**
 * A scope in a bucket: `PREFIX/scope-NAME/manifest.json`, and data below `data/TOKEN/`. S3 replaces an object atomically, and under `If-Match` only
 * if it is still the one of that ETag. The ETag of a plain upload is a digest of its content, which of a manifest never repeats.
 */

import { randomBytes } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { FenceError } from '@holdfast/fence';
import { invalid } from '@holdfast/fence/adapter';
import {
  decodeManifest,
  encodeManifest,
  type Leftover,
  type Loaded,
  type Manifest,
  type ManifestFile,
  type ManifestStore,
} from '@holdfast/fence-manifest';
import { asFenceError, isAbsent, isConflict } from './errors.ts';

/** A bucket, or a part of one, that the fence has for itself. */
export interface S3Storage {
  /** Of the application: its region, credentials and retries. Whatever has `send` for the commands of `@aws-sdk/client-s3`. */
  readonly client: Pick<S3Client, 'send'>;
  readonly bucket: string;
  /** What all keys begin with, such as `fenced/`. @default '' */
  readonly prefix?: string | undefined;
}

/** A conflict of conditional writes (409) says to try again, and S3 decides nothing by it. */
const MAX_CONFLICTS = 8;
/** Tokens in names: as text they sort as numbers. */
const TOKEN_DIGITS = 16;

/** @throws FenceError INVALID_ARGUMENT */
export function checkStorage(value: unknown): asserts value is S3Storage {
  if (typeof value !== 'object' || value === null) {
    throw invalid('the first argument is the storage: { client, bucket, prefix? }');
  }
  const { client, bucket, prefix } = value as { readonly [Name in keyof S3Storage]?: unknown };
  for (const name of Object.keys(value)) {
    if (!['client', 'bucket', 'prefix'].includes(name)) {
      throw invalid(`the storage has no ${JSON.stringify(name)}; it has client, bucket, prefix`);
    }
  }
  if (typeof client !== 'object' || client === null || !('send' in client) || typeof client.send !== 'function') {
    throw invalid('client is an S3Client of @aws-sdk/client-s3');
  }
  if (typeof bucket !== 'string' || bucket === '') throw invalid('bucket is the name of a bucket');
  if (prefix !== undefined && (typeof prefix !== 'string' || /[\0\p{Surrogate}]/u.test(prefix))) {
    throw invalid('prefix is a text that all keys begin with, such as "fenced/"');
  }
}

/** What else the package does with the objects of a scope. */
export class S3Store implements ManifestStore {
  readonly inlines = true;
  readonly #storage: S3Storage;

  constructor(storage: S3Storage) {
    this.#storage = storage;
  }

  async load(scope: string, signal?: AbortSignal): Promise<Loaded | undefined> {
    const key = `${this.#folder(scope)}manifest.json`;
    const found = await this.#get(key, signal);
    if (found === undefined) return undefined;
    const text = Buffer.from(found.data).toString('utf8');
    return { manifest: decodeManifest(text, `the object ${JSON.stringify(key)}`), version: found.etag };
  }

  async publish(scope: string, manifest: Manifest, over: Loaded | undefined): Promise<boolean> {
    const condition = over === undefined ? { IfNoneMatch: '*' } : { IfMatch: over.version };
    const command = new PutObjectCommand({
      Bucket: this.#storage.bucket,
      Key: `${this.#folder(scope)}manifest.json`,
      Body: encodeManifest(manifest),
      ContentType: 'application/json',
      ...condition,
    });
    for (let conflicts = 0; ; conflicts += 1) {
      try {
        await this.#storage.client.send(command);
        return true;
      } catch (error) {
        const conflict = isConflict(error);
        if (conflict === 'again' && conflicts < MAX_CONFLICTS) continue;
        if (conflict !== undefined) return false;
        throw this.#failure(error, 'publish');
      }
    }
  }

  async put(scope: string, token: number, data: Uint8Array, signal: AbortSignal): Promise<ManifestFile> {
    const name = `${String(token).padStart(TOKEN_DIGITS, '0')}/${randomBytes(12).toString('hex')}`;
    const key = `${this.#folder(scope)}data/${name}`;
    const command = new PutObjectCommand({ Bucket: this.#storage.bucket, Key: key, Body: data });
    try {
      await this.#storage.client.send(command, { abortSignal: signal });
    } catch (error) {
      throw this.#failure(error, 'put');
    }
    return { key, bytes: data.length, token };
  }

  async get(_scope: string, file: ManifestFile, signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return (await this.#get(file.key, signal))?.data;
  }

  /** Keys of data of the scope with the tokens that wrote them, and when. */
  async *data(scope: string): AsyncGenerator<Leftover> {
    const prefix = `${this.#folder(scope)}data/`;
    let after: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#storage.bucket,
        Prefix: prefix,
        ...(after === undefined ? {} : { ContinuationToken: after }),
      });
      const page = await this.#storage.client.send(command).catch((error: unknown) => {
        throw this.#failure(error, 'list');
      });
      for (const { Key: key } of page.Contents ?? []) {
        const token = Number(key?.slice(prefix.length, prefix.length + TOKEN_DIGITS));
        if (key !== undefined && Number.isSafeInteger(token)) yield { key, token };
      }
      after = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (after !== undefined);
  }

  async delete(key: string): Promise<void> {
    try {
      await this.#storage.client.send(new DeleteObjectCommand({ Bucket: this.#storage.bucket, Key: key }));
    } catch (error) {
      throw this.#failure(error, 'delete');
    }
  }

  /** @throws FenceError RESOURCE where the storage takes a write whose condition does not hold */
  async probe(): Promise<void> {
    const { bucket, client, prefix = '' } = this.#storage;
    const key = `${prefix}probe-${randomBytes(12).toString('hex')}`;
    const put = async (condition: object): Promise<boolean> => {
      try {
        await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: key, ...condition }));
        return true;
      } catch (error) {
        if (isConflict(error) !== undefined) return false;
        throw this.#failure(error, 'put');
      }
    };
    const first = await put({ IfNoneMatch: '*' });
    const taken = [await put({ IfNoneMatch: '*' }), await put({ IfMatch: '"00000000000000000000000000000000"' })];
    await this.delete(key);
    if (first && !taken.includes(true)) return;
    const text = 'the storage does not judge If-Match and If-None-Match of PUT, so that it cannot fence anybody';
    throw new FenceError('RESOURCE', `${text}: use one with conditional writes`);
  }

  async #get(
    key: string,
    signal?: AbortSignal,
  ): Promise<{ readonly data: Uint8Array; readonly etag: string } | undefined> {
    const command = new GetObjectCommand({ Bucket: this.#storage.bucket, Key: key });
    try {
      const { Body: body, ETag: etag } = await this.#storage.client.send(
        command,
        signal === undefined ? {} : { abortSignal: signal },
      );
      if (body === undefined || etag === undefined) throw new Error('the answer has no body or no ETag');
      return { data: await body.transformToByteArray(), etag };
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw this.#failure(error, 'get');
    }
  }

  #folder(scope: string): string {
    return `${this.#storage.prefix ?? ''}scope-${encodeURIComponent(scope)}/`;
  }

  #failure(error: unknown, doing: 'get' | 'put' | 'publish' | 'list' | 'delete'): FenceError {
    return asFenceError(error, doing, this.#storage.bucket);
  }
}
