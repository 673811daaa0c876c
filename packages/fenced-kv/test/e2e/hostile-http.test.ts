import { once } from 'node:events';
import { connect } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '@holdfast/runtime';
import { randomStream } from '@holdfast/runtime/sim';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { FencedKv } from '@holdfast/fenced-kv-client';
import {
  MAX_BATCH_BODY_BYTES,
  MAX_HELD_BODY_BYTES,
  MAX_INLINE_VALUE_BYTES,
  MAX_VALUE_BYTES,
} from '../../src/limits.ts';
import { serve, stopAll } from './daemon.ts';
import type { Daemon } from './daemon.ts';

const REQUESTS = 3_000;
const WORKERS = 8;
/** Another seed is another run: HOLDFAST_HOSTILE_SEED=7. */
const SEED = process.env['HOLDFAST_HOSTILE_SEED'] ?? '1';
/** A head gets 10 s, and then the connection is found within seconds. */
const HEAD_LIMIT_MS = 20_000;
const TOKEN = 57;

let data: string;
let server: Daemon;

beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'fenced-kv-hostile-'));
  server = await serve(data);
});

afterEach(async () => {
  await stopAll();
  rmSync(data, { recursive: true, force: true });
});

/** Requests with something wrong; none of them carries a token that passes. */
class Requests {
  readonly #random: Random;
  readonly #host = new URL(server.url).host;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The last of them closes the connection. */
  next(): string {
    const count = this.#random.integer(4);
    const before = Array.from({ length: count }, () => this.#request(['Connection: keep-alive']));
    return [...before, this.#request(['Connection: close'])].join('');
  }

  #request(headers: readonly string[]): string {
    const value = this.#noise();
    switch (this.#random.integer(11)) {
      case 0:
        return `${value}\r\n\r\n`;
      case 1:
        return this.#say('GET', this.#path(), headers, '');
      case 2:
        return this.#say('POST', '/v1/buckets/b/batch', [...headers, 'Content-Type: application/json'], this.#json());
      case 3:
        return this.#say('POST', '/v1/buckets/b/fence', [...headers, 'Content-Type: application/json'], this.#json());
      case 4:
        return this.#say('PUT', '/v1/buckets/b/keys/k', [...headers, this.#token(), this.#type()], value);
      case 5:
        return this.#say('PUT', '/v1/buckets/b/keys/k', [...headers, `Content-Length: ${this.#length()}`], '');
      case 6:
        return this.#say(
          'PUT',
          '/v1/buckets/b/keys/k',
          [...headers, 'Transfer-Encoding: chunked'],
          `${value}\r\n${value}`,
        );
      case 7:
        return this.#say(this.#pick(['PATCH', 'TRACE', 'CONNECT', 'FOO', 'DELETE']), this.#path(), headers, '');
      case 8:
        return this.#say('GET', '/v1/buckets/b', [...headers, `Cookie: ${'x'.repeat(20_000)}`], '');
      case 9:
        return this.#say('GET', '/v1/buckets/b', [...headers, 'Upgrade: websocket', 'Connection: Upgrade'], '');
      default:
        return this.#say(
          'GET',
          '/v1/buckets/b/keys/k',
          [...headers, this.#token(), `If-Match: ${this.#pick(['*', '"1"', 'W/"x"', '"', 'x,', value])}`],
          '',
        );
    }
  }

  #say(method: string, path: string, headers: readonly string[], body: string): string {
    const announced = headers.some((header) => /^(content-length|transfer-encoding)/i.test(header));
    const length = announced || body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`];
    const host = this.#random.integer(20) === 0 ? 'evil.example' : this.#host;
    return [`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...headers, ...length, '', body].join('\r\n');
  }

  #path(): string {
    const names = [
      '',
      'b',
      'b/keys/k',
      'none',
      '..',
      '%2e%2e',
      '%00',
      '%',
      '%zz',
      'é',
      'x'.repeat(600),
      '__proto__',
      '*',
      '//',
    ];
    return `/${this.#pick(['v1/buckets', 'v1/buckets/b/keys', 'v1', '..', ''])}/${this.#pick(names)}?limit=${this.#pick(['', '0', '-1', 'x', '1001', '%00'])}`;
  }

  #json(): string {
    const texts = [
      '{"token":58,"token":-1}',
      '{"__proto__":{"token":58}}',
      '{"token":1e999}',
      '{"token":9007199254740993}',
      '{"writes":[{"op":"put","key":"k","value":1}]}',
      '{"writes":[null]}',
      `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
      '{"writes":[{"op":"put","key":"k","valueBase64":"***"}]}',
      '\ufeff{}',
      '',
      this.#noise(),
    ];
    return this.#pick(texts);
  }

  #token(): string {
    return `Fencing-Token: ${this.#pick(['', '-1', '0', '1.5', '56', '1e3', '9007199254740992', 'x', '0x58', '57, 58'])}`;
  }

  #type(): string {
    return `Content-Type: ${this.#pick(['application/octet-stream', 'text/html', '', 'application/json'])}`;
  }

  #length(): string {
    return this.#pick(['-1', '1e3', String(MAX_VALUE_BYTES + 1), '99999999999999999999', 'x']);
  }

  #noise(): string {
    const bytes = this.#random.bytes(1 + this.#random.integer(60));
    return Buffer.from(bytes)
      .toString('latin1')
      .replaceAll(/[\r\n]/g, ' ');
  }

  #pick(texts: readonly string[]): string {
    return texts[this.#random.integer(texts.length)] ?? '';
  }
}

/**
 * Says it and, with `end`, that no more comes. Resolves with everything that is answered once the server has closed; rejects when it
 * does not within the limit.
 */
function speak(text: string, { end }: { readonly end: boolean }): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      end ? socket.end(text, 'latin1') : socket.write(text, 'latin1'),
    );
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection did not end: ${text.slice(0, 300)}`));
    }, HEAD_LIMIT_MS);
    let answer = '';
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => (answer += part));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** Writes and reads until it is stopped; rejects with the first error. */
async function writing(): Promise<{ readonly count: () => number; readonly stop: () => Promise<void> }> {
  const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: TOKEN });
  let count = 0;
  let running = true;
  const done = (async () => {
    while (running) {
      await bucket.put('mine', Buffer.from(`${count}`));
      expect(Buffer.from((await bucket.get('mine'))?.value ?? []).toString()).toBe(`${count}`);
      count += 1;
    }
  })();
  done.catch(() => undefined);
  return {
    count: () => count,
    stop: () => {
      running = false;
      return done;
    },
  };
}

describe('fenced-kvd', () => {
  it(`answers ${REQUESTS} hostile connections with what was wrong, or closes them, and goes on (seed ${SEED})`, async () => {
    const work = await writing();
    // Meanwhile: who says nothing, and who says a header without end, is cut off.
    const silences = ['', 'GET /v1/buckets/b HTTP/1.1\r\nHost:'];
    const silent = Promise.all(silences.map((text) => speak(text, { end: false })));
    silent.catch(() => undefined);
    let left = REQUESTS;
    const statuses = new Map<string, number>();
    const attack = async (worker: number): Promise<void> => {
      const requests = new Requests(randomStream(SEED, `worker ${worker}`));
      while (left > 0) {
        left -= 1;
        for (const [, status = ''] of (await speak(requests.next(), { end: true })).matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }
    };
    for (let part = 0; part < 5; part += 1) {
      const before = work.count();
      left = REQUESTS / 5;
      await Promise.all(Array.from({ length: WORKERS }, (_, worker) => attack(10 * part + worker)));
      expect(work.count()).toBeGreaterThan(before);
    }
    await work.stop();
    for (const answer of await silent) expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect([...statuses.keys()].filter((status) => !/^(2|4)/.test(status))).toEqual([]);
    for (const status of ['400', '403', '404', '405', '412', '415', '431']) {
      expect(statuses.get(status) ?? 0, `status ${status} of ${JSON.stringify([...statuses])}`).toBeGreaterThan(0);
    }
    const bucket = await new FencedKv(server.url).bucket('b').info();
    expect(bucket).toMatchObject({ highest: TOKEN, keys: 1 });
    const { exitCode, stderr } = await server.stop('SIGTERM');
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain('"level":50');
    expect(stderr.split('\n').length, 'lines of the log').toBeLessThan(20);
  });

  it('answers others while one connection pipelines 500 listings of 1,000 keys', async () => {
    const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: TOKEN });
    const writes = Array.from({ length: 1_000 }, (_, key) => ({ op: 'put', key: `k${key}`, value: 'v' }) as const);
    await bucket.batch(writes);
    const { host, hostname, port } = new URL(server.url);
    const flood = connect(Number(port), hostname);
    let answered = 0;
    // HEAD is the same work without the body, so that what was answered has arrived.
    flood.on('data', (chunk: Buffer) => (answered += chunk.toString('latin1').split('HTTP/1.1 200').length - 1));
    flood.write(`HEAD /v1/buckets/b/keys?limit=1000 HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(500));
    await once(flood, 'data');
    for (let write = 0; write < 10; write += 1) {
      await bucket.put('mine', `${write}`);
      expect(answered, `answers of the flood after ${write + 1} writes of another`).toBeLessThan(500);
    }
    flood.destroy();
  });

  it('takes writes while bodies that never come are announced, more than it could hold', async () => {
    const head = ['POST /v1/buckets/b/batch HTTP/1.1', `Host: ${new URL(server.url).host}`, 'Fencing-Token: 1'];
    const announced = [...head, 'Content-Type: application/json', `Content-Length: ${MAX_BATCH_BODY_BYTES}`, '', '{'];
    const { hostname, port } = new URL(server.url);
    const idle = Array.from({ length: MAX_HELD_BODY_BYTES / MAX_BATCH_BODY_BYTES + 1 }, () => {
      const socket = connect(Number(port), hostname);
      socket.write(announced.join('\r\n'));
      return socket.on('error', () => undefined);
    });
    const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: TOKEN });
    for (let write = 0; write < 20; write += 1)
      await bucket.put('large', new Uint8Array(MAX_INLINE_VALUE_BYTES).fill(write));
    expect((await bucket.get('large'))?.value.at(-1)).toBe(19);
    for (const socket of idle) socket.destroy();
  });
});
