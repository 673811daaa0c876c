import { describe, expect, it } from 'vitest';
import {
  fenceBy,
  installBy,
  readFrom,
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
    '{"format":1,"floor":1,"revision":1,"recent":[],"files":[["a",{"key":"","data":5,"bytes":1,"token":1}]]}',
    '{"format":1,"floor":1,"revision":1,"recent":[],"files":[["a",{"key":"","data":"eA==","bytes":2,"token":1}]]}',
  ])('is not %s', (text) => {
    expect(() => decodeManifest(text, 'it')).toThrow(expect.objectContaining({ code: 'RESOURCE' }));
  });

  it('of a later version is refused as that', () => {
    expect(() => decodeManifest('{"format":2}', 'it')).toThrow(expect.objectContaining({ code: 'SCHEMA_VERSION' }));
  });
});

/** A further write of data would be a further wait. */
class InliningStore extends MemoryStore {
  readonly inlines = true;
  puts = 0;

  override async put(scope: string, token: number, data: Uint8Array): ReturnType<MemoryStore['put']> {
    this.puts += 1;
    return await super.put(scope, token, data);
  }
}

describe('a small file, where the storage is waited for', () => {
  const writing = async (store: MemoryStore, files: Readonly<Record<string, string>>): Promise<void> =>
    await fenceBy(
      call(store, 5),
      (of) => new Transaction(of),
      async (tx) => {
        for (const [name, value] of Object.entries(files)) await tx.write(name, value);
      },
    );
  const reading = async (store: MemoryStore, name: string): Promise<string | undefined> => {
    const data = await readFrom(store, 'jobs', name);
    return data === undefined ? undefined : Buffer.from(data).toString();
  };

  it('is in the manifest, and read from it', async () => {
    const store = new InliningStore();
    await writing(store, { a: 'ä', empty: '', b: 'x'.repeat(4_096), large: 'x'.repeat(4_097) });
    expect(store.puts).toBe(1);
    expect([await reading(store, 'a'), await reading(store, 'empty')]).toEqual(['ä', '']);
    expect((await reading(store, 'b'))?.length).toBe(4_096);
    expect((await reading(store, 'large'))?.length).toBe(4_097);
    expect(decodeManifest(encodeManifest(store.current?.manifest ?? EMPTY), 'it')).toEqual(store.current?.manifest);
  });

  it('is so up to a bound on all of them, and one that is replaced gives its room back', async () => {
    const store = new InliningStore();
    const full = Object.fromEntries(Array.from({ length: 16 }, (_, place) => [`${place}`, 'x'.repeat(4_096)]));
    await writing(store, full);
    expect(store.puts).toBe(0);
    await writing(store, { more: 'x' });
    expect(store.puts).toBe(1);
    await writing(store, { 5: 'y'.repeat(4_096) });
    expect(store.puts).toBe(1);
    expect([await reading(store, 'more'), (await reading(store, '5'))?.slice(0, 1)]).toEqual(['x', 'y']);
  });

  it('is no data where a local disk has it as well', async () => {
    const store = new MemoryStore();
    await writing(store, { a: 'it' });
    expect(store.current?.manifest.files.get('a')).toEqual({ key: 'it', bytes: 2, token: 5 });
  });
});

describe('the body of a stale holder', () => {
  it('is not run, though its process has seen nothing of the newer one', async () => {
    const store = new MemoryStore();
    await write(store, 5, 'first');
    await installBy(call(store, 6));
    let ran = false;
    const late = fenceBy(
      call(store, 5),
      (of) => new Transaction(of),
      async () => {
        ran = true;
      },
    );
    expect(await failureOf(late)).toMatchObject({ code: 'STALE_TOKEN', highest: 6 });
    expect(ran).toBe(false);
  });
});
