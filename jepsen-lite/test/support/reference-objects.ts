/**
 * The objects of the models a second time, as somebody would write them who has never seen the models: with state that changes. What they
 * do in some order is a valid history by construction.
 */

import type { Value } from '../../src/history/operations/operation.ts';
import type { ModelName } from '../../src/models/index.ts';

/** Answers, or undefined where the operation cannot be done now. */
type ReferenceObject = (f: string, owner: string, input: Value) => { readonly output: Value } | undefined;

export interface Kind {
  readonly operations: readonly string[];
  readonly make: () => ReferenceObject;
  /** Some of what operations may be given, and what a liar may answer. */
  readonly inputs: readonly Value[];
  readonly lies: readonly Value[];
}

export const LIMIT = 2;
export const PERMITS = 3;

const DONE = { output: null };
const LOCK_OPERATIONS = ['acquire', 'release', 'acquire', 'release', 'expire'];

export const REFERENCES: Readonly<Record<ModelName, Kind>> = {
  register: {
    operations: ['read', 'write'],
    inputs: [0, 1, 2],
    lies: [null, 0, 1, 2],
    make: () => {
      let value: Value = null;
      return (f, _, input) => {
        if (f === 'read') return { output: value };
        value = input;
        return DONE;
      };
    },
  },
  'cas-register': {
    operations: ['read', 'write', 'cas', 'cas'],
    inputs: [0, 1, [0, 1], [1, 2], [2, 0], [1, 1]],
    lies: [null, 0, 1, 2, false, true],
    make: () => {
      let value: Value = null;
      return (f, _, input) => {
        if (f === 'read') return { output: value };
        if (f === 'write') {
          value = Array.isArray(input) ? (input[0] as Value) : input;
          return DONE;
        }
        const [from, to] = Array.isArray(input) ? (input as Value[]) : [input, 2];
        if (value !== from) return { output: false };
        value = to ?? null;
        return { output: true };
      };
    },
  },
  mutex: {
    operations: LOCK_OPERATIONS,
    inputs: [null],
    lies: [null],
    make: () => {
      let holder: string | undefined;
      return (f, owner) => {
        if (f === 'acquire' && holder !== undefined) return undefined;
        if (f === 'release' && holder !== owner) return undefined;
        if (f === 'acquire') holder = owner;
        else if (holder === owner) holder = undefined;
        return DONE;
      };
    },
  },
  'fenced-mutex': {
    operations: LOCK_OPERATIONS,
    inputs: [null],
    lies: [null, 1, 2, 3, 4],
    make: () => {
      let holder: string | undefined;
      let tokens = 0;
      return (f, owner) => {
        if (f === 'acquire' && holder !== undefined) return undefined;
        if (f === 'release' && holder !== owner) return undefined;
        if (f === 'acquire') {
          holder = owner;
          tokens += 1;
          return { output: tokens };
        }
        if (holder === owner) holder = undefined;
        return DONE;
      };
    },
  },
  'reentrant-mutex': {
    operations: LOCK_OPERATIONS,
    inputs: [null],
    lies: [null, 1, 2, 3],
    make: () => {
      const holds: string[] = [];
      let tokens = 0;
      return (f, owner) => {
        const own = holds[0] === owner;
        if (f === 'acquire') {
          if ((holds.length > 0 && !own) || holds.length === LIMIT) return undefined;
          if (holds.push(owner) === 1) tokens += 1;
          return { output: tokens };
        }
        if (f === 'release' && !own) return undefined;
        if (f === 'release') holds.pop();
        else if (own) holds.length = 0;
        return DONE;
      };
    },
  },
  'rw-mutex': {
    operations: [
      'acquire-read',
      'release-read',
      'acquire-read',
      'acquire-write',
      'release-write',
      'acquire-write',
      'downgrade',
      'release',
      'expire',
    ],
    inputs: [null],
    lies: [null],
    make: () => {
      let writer = '';
      let readers: string[] = [];
      return (f, owner) => {
        const place = readers.indexOf(owner);
        switch (f) {
          case 'acquire-read':
            if (writer !== '') return undefined;
            readers.push(owner);
            return DONE;
          case 'release-read':
            if (place < 0) return undefined;
            readers.splice(place, 1);
            return DONE;
          case 'acquire-write':
            if (writer !== '' || readers.length > 0) return undefined;
            writer = owner;
            return DONE;
          case 'release-write':
            if (writer !== owner) return undefined;
            writer = '';
            return DONE;
          case 'downgrade':
            if (writer !== owner) return undefined;
            writer = '';
            readers.push(owner);
            return DONE;
          case 'release':
            if (writer !== owner && place < 0) return undefined;
            if (writer === owner) writer = '';
            else readers.splice(place, 1);
            return DONE;
          default:
            readers = readers.filter((each) => each !== owner);
            if (writer === owner) writer = '';
            return DONE;
        }
      };
    },
  },
  semaphore: {
    operations: LOCK_OPERATIONS,
    inputs: [null, 1, 2],
    lies: [null],
    make: () => {
      let taken: string[] = [];
      return (f, owner, input) => {
        const count = typeof input === 'number' ? input : 1;
        const own = taken.filter((each) => each === owner);
        if (f === 'acquire') {
          if (taken.length + count > PERMITS) return undefined;
          for (let n = 0; n < count; n += 1) taken.push(owner);
          return DONE;
        }
        if (f === 'release' && own.length < count) return undefined;
        const kept = f === 'release' ? own.slice(count) : [];
        taken = [...taken.filter((each) => each !== owner), ...kept];
        return DONE;
      };
    },
  },
  'list-append': {
    operations: ['append', 'read'],
    inputs: [1, 2, 3],
    lies: [null, [], [1], [2], [1, 2], [2, 1], [1, 1]],
    make: () => {
      const list: Value[] = [];
      return (f, _, input) => {
        if (f === 'read') return { output: [...list] };
        list.push(input);
        return DONE;
      };
    },
  },
  kv: {
    operations: ['get', 'put', 'append'],
    inputs: ['', 'a', 'b'],
    lies: ['', 'a', 'b', 'ab', 'ba', 'aa'],
    make: () => {
      let text = '';
      return (f, _, input) => {
        if (f === 'get') return { output: text };
        const given = typeof input === 'string' ? input : '';
        text = f === 'put' ? given : text + given;
        return DONE;
      };
    },
  },
};
