/** The models by name. A new one is a file and a line here. */

import type { Operation } from '../history/operations/operation.ts';
import { casRegister } from './cas-register.ts';
import { fencedMutex } from './fenced-mutex.ts';
import { keyValueStore } from './kv.ts';
import { keyOfTransaction, listAppend } from './list-append.ts';
import type { Model, ModelOptions } from './model.ts';
import { mutex } from './mutex.ts';
import { EXPIRE } from './owners.ts';
import { reentrantMutex } from './reentrant-mutex.ts';
import { register } from './register.ts';
import { readWriteMutex } from './rw-mutex.ts';
import { semaphore } from './semaphore.ts';

export const MODELS = {
  register: ({ initial }) => register(initial),
  'cas-register': ({ initial }) => casRegister(initial),
  mutex: () => mutex(),
  'fenced-mutex': () => fencedMutex(),
  'reentrant-mutex': ({ limit }) => reentrantMutex(limit),
  'rw-mutex': () => readWriteMutex(),
  semaphore: ({ permits = 1 }) => semaphore(permits),
  'list-append': () => listAppend(),
  kv: () => keyValueStore(),
} as const satisfies Readonly<Record<string, (options: ModelOptions) => Model<unknown>>>;

export type ModelName = keyof typeof MODELS;

/** What it holds of each key holds of all: objects of different keys know nothing of each other. */
export function keyOfObject(operation: Operation): string | undefined {
  return operation.key ?? keyOfTransaction(operation);
}

/** The end of a session concerns the objects of all keys, unless it names one. */
export function concernsEveryKey({ f, key }: Operation): boolean {
  return f === EXPIRE && key === undefined;
}

/** The end of a session tells nothing of what the object answered. */
export function isAnswer({ f, returnedAt }: Operation): boolean {
  return f !== EXPIRE && returnedAt !== Number.POSITIVE_INFINITY;
}
