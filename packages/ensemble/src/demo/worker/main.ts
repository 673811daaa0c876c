/**
 * One worker of the demo, a process of its own so that it can be stopped. It obeys lines on its standard input, records what
 * happens to it as JSON lines on its standard output, and ends when its input closes.
 */

import { createInterface } from 'node:readline';

import { connect, HoldfastError, type Client, type HeldLock } from '@holdfast/client';
import { FencedKv, FencedKvError, StaleTokenError, type Bucket } from '@holdfast/fenced-kv-client';

import {
  BUCKET_NAMES,
  DEPOSIT_OF_A,
  DEPOSIT_OF_B,
  KEY,
  OPENING,
  type BucketName,
  type StoryFact,
  type WorkerCommand,
  type WorkerInstructions,
} from '../event.ts';
import { SlowWrite } from './slow-write.ts';

const instructions = JSON.parse(process.argv[2] ?? '{}') as WorkerInstructions;
const { who, servers, fencedKvUrl, sessionTimeoutMs, lock, fence } = instructions;

const LABEL = 'demo ';

function record(fact: StoryFact): void {
  process.stdout.write(`${JSON.stringify({ at: Date.now(), who, fact })}\n`);
}

class Worker {
  readonly #client: Client;
  #held: HeldLock | undefined;
  /** The writes that have begun. */
  readonly #slow = new Map<BucketName, SlowWrite>();
  #buckets: Readonly<Record<BucketName, Bucket>>;

  constructor(client: Client) {
    this.#client = client;
    const store = new FencedKv(fencedKvUrl);
    this.#buckets = { fenced: store.bucket('fenced'), unfenced: store.bucket('unfenced') };
  }

  async obey(command: WorkerCommand): Promise<void> {
    switch (command) {
      case 'acquire':
        return await this.#acquire();
      case 'open':
        await this.#install();
        return await this.#write(String(OPENING));
      case 'deposit':
        await this.#install();
        await this.#write(String((await this.#read()) + DEPOSIT_OF_B));
        this.#check();
        return;
      case 'begin a deposit': {
        const value = String((await this.#read()) + DEPOSIT_OF_A);
        this.#check();
        return await this.#begin(value);
      }
      case 'go on':
        // The check came before the pause; after it the program simply goes on, as any program does.
        return await this.#goOn();
      case 'finish':
        await this.#client.close();
        process.exit(0);
    }
  }

  async #acquire(): Promise<void> {
    record({ type: 'waiting' });
    const held = await this.#client.lock(lock).acquire();
    this.#held = held;
    record({ type: 'granted', token: held.token });
    record({ type: 'sessions', of: await this.#workersWithSession() });
    held.signal.addEventListener('abort', () => record({ type: 'lost', reason: String(held.loss?.reason) }));
  }

  async #workersWithSession(): Promise<string[]> {
    const names: string[] = [];
    for await (const { label } of this.#client.admin.sessions()) {
      if (label.startsWith(LABEL)) names.push(label.slice(LABEL.length));
    }
    return names.toSorted();
  }

  /** Of acquire → install → read → write. */
  async #install(): Promise<void> {
    if (!fence) return;
    const { token } = this.#holding();
    // Only the token, without the handle: the client would refuse a late write by itself, and the store's refusal is what is shown.
    this.#buckets = { ...this.#buckets, fenced: await this.#buckets.fenced.fencedBy({ token }) };
    record({ type: 'installed', token });
  }

  /** Both buckets have the same until the end of the story. */
  async #read(): Promise<number> {
    let balance = 0;
    for (const bucket of BUCKET_NAMES) {
      const found = await this.#buckets[bucket].get(KEY);
      const value = found === undefined ? null : new TextDecoder().decode(found.value);
      record({ type: 'read', bucket, value });
      balance = Number(value ?? 0);
    }
    return balance;
  }

  #check(): void {
    this.#holding().assertHeld();
    record({ type: 'checked' });
  }

  #holding(): HeldLock {
    if (this.#held === undefined) throw new Error('asked to work before it holds the lock');
    return this.#held;
  }

  /** Sends one half of the write to each bucket. */
  async #begin(value: string): Promise<void> {
    const { token } = this.#holding();
    for (const bucket of BUCKET_NAMES) {
      const url = `${fencedKvUrl}/v1/buckets/${bucket}/keys/${KEY}`;
      this.#slow.set(bucket, await SlowWrite.begin(url, value, bucket === 'fenced' && fence ? token : undefined));
      record({ type: 'writing', bucket, value });
    }
  }

  async #goOn(): Promise<void> {
    for (const [bucket, write] of this.#slow) {
      const { status, body } = await write.end();
      if (status === 204) record({ type: 'wrote', bucket, value: write.value });
      else record({ type: 'refused', bucket, ...refusalOf(body) });
    }
  }

  async #write(value: string): Promise<void> {
    for (const bucket of ['fenced', 'unfenced'] as const) {
      try {
        await this.#buckets[bucket].put(KEY, value);
        record({ type: 'wrote', bucket, value });
      } catch (error) {
        if (!(error instanceof FencedKvError)) throw error;
        const { presented, highest } = error instanceof StaleTokenError ? error : { presented: 0, highest: 0 };
        record({ type: 'refused', bucket, code: error.code, presented, highest });
      }
    }
  }
}

function refusalOf(body: string): { readonly code: string; readonly presented: number; readonly highest: number } {
  const {
    code,
    presented = 0,
    highest = 0,
  } = JSON.parse(body) as {
    readonly code: string;
    readonly presented?: number;
    readonly highest?: number;
  };
  return { code, presented, highest };
}

async function main(): Promise<void> {
  const client = await connect({ servers, sessionTimeoutMs, label: `${LABEL}${who}` });
  record({ type: 'connected' });
  const worker = new Worker(client);
  for await (const line of createInterface({ input: process.stdin })) await worker.obey(line as WorkerCommand);
  // Whoever sent us commands is gone.
  process.exit(1);
}

try {
  await main();
} catch (error) {
  record({
    type: 'failed',
    message: error instanceof HoldfastError ? `${error.code}: ${error.message}` : String(error),
  });
  process.exit(1);
}
