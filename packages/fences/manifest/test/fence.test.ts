import { describe, expect, it } from 'vitest';
import {
  fenceBy,
  installBy,
  RULES,
  Transaction,
  type Loaded,
  type Manifest,
  type ManifestStore,
} from '../src/index.ts';
import { decodeManifest, EMPTY, encodeManifest, following, MAX_RECENT } from '../src/manifest.ts';

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

type Lose = 'before' | 'behind' | undefined;

/** Storage in memory, whose answers to a manifest are lost before it is taken or behind that. */
class MemoryStore implements ManifestStore {
  current: Loaded | undefined;
  lose: readonly Lose[] = [];
  /** Runs within a publish, ahead of it. */
  meanwhile: (() => Promise<void>) | undefined;
  publishes = 0;

  async load(): Promise<Loaded | undefined> {
    return this.current;
  }

  async publish(_scope: string, manifest: Manifest, over: Loaded | undefined): Promise<boolean> {
    const [lose, ...left] = this.lose;
    this.lose = left;
    const run = this.meanwhile;
    this.meanwhile = undefined;
    await run?.();
    if (lose === 'before') throw new Error('lost');
    if (this.current?.version !== over?.version) return false;
    this.publishes += 1;
    this.current = { manifest, version: `${manifest.revision}` };
    if (lose === 'behind') throw new Error('lost');
    return true;
  }

  async put(_scope: string, token: number, data: Uint8Array): Promise<{ key: string; bytes: number; token: number }> {
    return { key: Buffer.from(data).toString(), bytes: data.length, token };
  }

  async get(_scope: string, file: { readonly key: string }): Promise<Uint8Array> {
    return Buffer.from(file.key);
  }
}

const call = (store: MemoryStore, token: number, options = {}) =>
  ({ store, rules: RULES, scope: 'jobs', holder: { token }, options }) as const;

const write = async (store: MemoryStore, token: number, value: string, options = {}): Promise<void> =>
  await fenceBy(
    call(store, token, options),
    (of) => new Transaction(of),
    (tx) => tx.write('a', value),
  );

const valueIn = (store: MemoryStore): string | undefined => store.current?.manifest.files.get('a')?.key;

describe('a manifest whose answer is lost', () => {
  it('was published, and is not published again', async () => {
    const store = new MemoryStore();
    store.lose = [undefined, 'behind'];
    await write(store, 5, 'it');
    expect([valueIn(store), store.publishes]).toEqual(['it', 2]);
  });

  it('was published, though others have published over it since', async () => {
    const store = new MemoryStore();
    await installBy(call(store, 5));
    store.lose = ['behind'];
    const load = store.load.bind(store);
    let loads = 0;
    store.load = async () => {
      loads += 1;
      // The look behind the lost answer.
      if (loads === 2) {
        store.load = load;
        for (let count = 0; count < 10; count += 1) await write(store, 5, `other ${count}`);
      }
      return await load();
    };
    await write(store, 5, 'it');
    expect(valueIn(store)).toBe('other 9');
  });

  it('was not published, and is sent again', async () => {
    const store = new MemoryStore();
    store.lose = [undefined, 'before', 'before'];
    await write(store, 5, 'it');
    expect(valueIn(store)).toBe('it');
  });

  it('may be on its way still when the tries are over', async () => {
    const store = new MemoryStore();
    store.lose = [undefined, 'before', 'before', 'before'];
    expect(await failureOf(write(store, 5, 'it'))).toMatchObject({ code: 'CONNECTION', indeterminate: true });
    expect(valueIn(store)).toBeUndefined();
  });

  it('is of no effect any more once another was published: the holder is told that it is stale', async () => {
    const store = new MemoryStore();
    await installBy(call(store, 5));
    store.lose = ['before'];
    store.meanwhile = () => installBy(call(store, 7));
    expect(await failureOf(write(store, 5, 'it'))).toMatchObject({
      code: 'STALE_TOKEN',
      highest: 7,
      indeterminate: false,
    });
  });

  it('is unknown when more were published since than a manifest remembers', async () => {
    const store = new MemoryStore();
    await installBy(call(store, 5));
    store.meanwhile = async () => {
      for (let count = 0; count <= MAX_RECENT; count += 1) await write(store, 7, `${count}`);
    };
    expect(await failureOf(write(store, 5, 'it'))).toMatchObject({ code: 'STALE_TOKEN', indeterminate: true });
  });
});

describe('a body', () => {
  it('is run again where another with a valid token published meanwhile, on what that has published', async () => {
    const store = new MemoryStore();
    await installBy(call(store, 5));
    const seen: (string | undefined)[] = [];
    await fenceBy(
      call(store, 5),
      (of) => new Transaction(of),
      async (tx) => {
        const data = await tx.read('a');
        seen.push(data === undefined ? undefined : Buffer.from(data).toString());
        await tx.write('a', `${seen.length}`);
        if (seen.length === 1) await write(store, 5, 'between');
      },
    );
    expect(seen).toEqual([undefined, 'between']);
    expect(valueIn(store)).toBe('2');
  });

  it('is not run for ever', async () => {
    const store = new MemoryStore();
    await installBy(call(store, 5));
    const failed = fenceBy(
      call(store, 5, { waitMs: 30 }),
      (of) => new Transaction(of),
      async (tx) => {
        await tx.write('a', 'never');
        await write(store, 5, 'other');
      },
    );
    expect(await failureOf(failed)).toMatchObject({ code: 'TIMEOUT', indeterminate: false, retryable: true });
    expect(valueIn(store)).toBe('other');
  });

  it('that writes nothing publishes nothing', async () => {
    const store = new MemoryStore();
    await fenceBy(
      call(store, 5),
      (of) => new Transaction(of),
      async (tx) => await tx.read('a'),
    );
    expect(store.publishes).toBe(1);
  });
});

describe('the format of a manifest', () => {
  const manifest = following(EMPTY, 'id', 5, new Map([['__proto__', { key: 'k', bytes: 1, token: 5 }]]));

  it('is read as it was written', () => {
    expect(decodeManifest(encodeManifest(manifest), 'it')).toEqual(manifest);
    expect(decodeManifest(encodeManifest(EMPTY), 'it')).toEqual(EMPTY);
  });

  it('never repeats, and remembers some ids', () => {
    let next = manifest;
    for (let count = 0; count < MAX_RECENT + 5; count += 1) next = following(next, `${count}`, 1);
    expect(next.recent.length).toBe(MAX_RECENT);
    expect(next).toMatchObject({ floor: 5, revision: MAX_RECENT + 6 });
    expect(next.recent.at(-1)).toBe(`${MAX_RECENT + 4}`);
  });

  it('has a bound on its files', () => {
    const files = new Map(Array.from({ length: 10_001 }, (_, place) => [`${place}`, { key: 'k', bytes: 1, token: 5 }]));
    expect(() => encodeManifest({ ...manifest, files })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it.each([
    '',
    'null',
    '[]',
    '{}',
    '{"format":"1"}',
    '{"format":1,"floor":1,"revision":1,"recent":[1],"files":[]}',
    '{"format":1,"floor":1,"revision":1,"recent":[],"files":[["a"]]}',
    '{"format":1,"floor":1,"revision":1,"recent":[],"files":{"a":{}}}',
    '{"format":1,"floor":9007199254740992,"revision":1,"recent":[],"files":[]}',
  ])('is not %s', (text) => {
    expect(() => decodeManifest(text, 'it')).toThrow(expect.objectContaining({ code: 'RESOURCE' }));
  });

  it('of a later version is refused as that', () => {
    expect(() => decodeManifest('{"format":2}', 'it')).toThrow(expect.objectContaining({ code: 'SCHEMA_VERSION' }));
  });
});

/** A load takes long, so that bodies begin with what was current when it was seen last. */
class RecallingStore extends MemoryStore {
  recalled: Loaded | undefined;

  recall(): Loaded | undefined {
    return this.recalled;
  }
}

describe('a body that begins with a manifest that was seen before', () => {
  async function published(token: number): Promise<RecallingStore> {
    const store = new RecallingStore();
    await write(store, token, 'first');
    store.recalled = store.current;
    return store;
  }

  const reading = async (store: RecallingStore, token: number): Promise<(string | undefined)[]> => {
    const seen: (string | undefined)[] = [];
    await fenceBy(
      call(store, token),
      (of) => new Transaction(of),
      async (tx) => {
        const data = await tx.read('a');
        seen.push(data === undefined ? undefined : Buffer.from(data).toString());
      },
    );
    return seen;
  };

  it('does not wait for the current one', async () => {
    const store = await published(5);
    const load = store.load.bind(store);
    let begun = (): void => undefined;
    const writing = new Promise<void>((resolve) => (begun = resolve));
    store.load = async () => {
      await writing;
      return await load();
    };
    await fenceBy(
      call(store, 5),
      (of) => new Transaction(of),
      async (tx) => {
        begun();
        await tx.write('a', 'second');
      },
    );
    expect(valueIn(store)).toBe('second');
  });

  it('is run again where the current one is another: what it gives was read from that', async () => {
    const store = await published(5);
    await write(store, 5, 'second');
    const seen = reading(store, 5);
    await new Promise((resolve) => setImmediate(resolve));
    store.recalled = store.current;
    expect(await seen).toEqual(['first', 'second']);
  });

  it('fails with no error that comes of an older one', async () => {
    const store = await published(5);
    await write(store, 5, 'second');
    const body = fenceBy(
      call(store, 5),
      (of) => new Transaction(of),
      async (tx) => {
        const value = Buffer.from((await tx.read('a')) ?? []).toString();
        store.recalled = store.current;
        if (value === 'first') throw new Error('it is the first still');
        return value;
      },
    );
    expect(await body).toBe('second');
  });

  it('publishes nothing, and says so, where a newer holder has been since', async () => {
    const store = await published(5);
    await installBy(call(store, 6));
    expect(await failureOf(write(store, 5, 'late'))).toMatchObject({ code: 'STALE_TOKEN', highest: 6 });
    expect(await failureOf(reading(store, 5))).toMatchObject({ code: 'STALE_TOKEN', highest: 6 });
    expect(valueIn(store)).toBe('first');
  });

  it('does so only under a floor that is installed', async () => {
    const store = await published(5);
    expect(await reading(store, 6)).toEqual(['first']);
    expect(store.current?.manifest.floor).toBe(6);
    expect(await failureOf(reading(store, 5))).toMatchObject({ code: 'STALE_TOKEN' });
  });
});
