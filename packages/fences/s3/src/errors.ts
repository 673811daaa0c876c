/** What the client of S3 rejects with, as errors of a fence. */

import { FenceError } from '@holdfast/fence';

type Doing = 'get' | 'put' | 'publish' | 'list' | 'delete';

const NAMES: Readonly<Record<Doing, string>> = {
  get: 'to give an object',
  put: 'to take an object',
  publish: 'to take the manifest',
  list: 'to list objects',
  delete: 'to delete an object',
};

/** Where the object is not; a bucket that is not has a name of its own. */
export function isAbsent(error: unknown): boolean {
  return nameOf(error) === 'NoSuchKey' || (statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket');
}

/** `again`: S3 was busy with another write of the object, and decided nothing. `lost`: the condition does not hold. */
export function isConflict(error: unknown): 'again' | 'lost' | undefined {
  const status = statusOf(error);
  if (status === 409 && nameOf(error) !== 'OperationAborted') return 'again';
  // If-Match of an object that is not there is answered 404.
  return status === 412 || isAbsent(error) ? 'lost' : undefined;
}

export function asFenceError(error: unknown, doing: Doing, bucket: string): FenceError {
  if (error instanceof FenceError) return error;
  const cause = error;
  const name = nameOf(error);
  const status = statusOf(error);
  const text = messageOf(error);
  if (name === 'NoSuchBucket') {
    const advice = 'create it, or correct the name';
    return new FenceError('SCHEMA_MISSING', `there is no bucket ${JSON.stringify(bucket)}: ${advice}`, { cause });
  }
  if (name === 'AbortError') {
    const aborted = 'the call was ended by a signal before it published; nothing was written';
    return new FenceError('ABORTED', aborted, { cause });
  }
  const indeterminate = doing === 'publish';
  // The client calls a connection that was reset a timeout, too.
  const reset = error instanceof Error && 'code' in error && ['ECONNRESET', 'EPIPE'].includes(String(error.code));
  if ((name === 'TimeoutError' && !reset) || name === 'RequestTimeout') {
    return new FenceError('TIMEOUT', `the storage took too long ${NAMES[doing]}: ${text}`, { cause, indeterminate });
  }
  if (status === undefined || status >= 500) {
    const what = `the storage cannot be reached, or failed ${NAMES[doing]} (${text})`;
    return new FenceError('CONNECTION', what, { cause, indeterminate });
  }
  const advice = status === 403 ? '; the fence needs s3:GetObject, s3:PutObject and s3:ListBucket' : '';
  return new FenceError('RESOURCE', `the storage refused ${NAMES[doing]}: ${text}${advice}`, {
    cause,
    retryable: status === 429,
  });
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined;
  const metadata = error.$metadata;
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined;
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
