import { Worker } from 'node:worker_threads';
import { execFile, spawnSync } from 'node:child_process';
import * as crypto from 'node:crypto';
import * as dgram from 'node:dgram';
import * as dns from 'node:dns';
import * as fs from 'node:fs';
import { readFileSync } from 'node:fs';
import * as fsPromises from 'node:fs/promises';
import * as http from 'node:http';
import * as https from 'node:https';
import * as net from 'node:net';
import * as timers from 'node:timers';
import * as timersPromises from 'node:timers/promises';
import * as tls from 'node:tls';
import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { RealWorldError, SimWorld } from '../../src/sim/index.ts';
import { trapList } from '../../src/sim/trap-list.ts';

const nothing = (): void => {};
const bytes = new Uint8Array(4);

/** By the name that the error gives; most are imported by name, as programs do. */
const REACHES: Readonly<Record<string, () => unknown>> = {
  'Date.now': () => Date.now(),
  'new Date': () => new Date(),
  Date: () => Date(),
  'performance.now': () => performance.now(),
  'process.hrtime': () => process.hrtime(),
  'process.hrtime.bigint': () => process.hrtime.bigint(),
  'process.uptime': () => process.uptime(),
  setTimeout: () => setTimeout(nothing, 1),
  setInterval: () => setInterval(nothing, 1),
  setImmediate: () => setImmediate(nothing),
  'setTimeout.Symbol(nodejs.util.promisify.custom)': () => promisify(setTimeout)(1),
  'timers.setTimeout': () => timers.setTimeout(nothing, 1),
  'timers.setImmediate': () => timers.setImmediate(nothing),
  'timersPromises.setTimeout': () => timersPromises.setTimeout(1),
  'timersPromises.scheduler.wait': () => timersPromises.scheduler.wait(1),
  'AbortSignal.timeout': () => AbortSignal.timeout(1),
  'Math.random': () => Math.random(),
  'crypto.getRandomValues': () => globalThis.crypto.getRandomValues(bytes),
  'crypto.randomUUID': () => globalThis.crypto.randomUUID(),
  'crypto.randomBytes': () => crypto.randomBytes(4),
  'crypto.randomInt': () => crypto.randomInt(4),
  'crypto.randomFillSync': () => crypto.randomFillSync(bytes),
  'crypto.pbkdf2': () => crypto.pbkdf2('a', 'b', 1, 8, 'sha256', nothing),
  'fs.readFileSync': () => fs.readFileSync('/dev/null'),
  'fs.readFile': () => fs.readFile('/dev/null', nothing),
  'fs.createWriteStream': () => fs.createWriteStream('/dev/null'),
  'fs.promises.readFile': () => fsPromises.readFile('/dev/null'),
  'net.connect': () => net.connect(1),
  'net.Socket.prototype.connect': () => new net.Socket().connect(1),
  'net.Server.prototype.listen': () => new net.Server().listen(0),
  'tls.connect': () => tls.connect(1),
  'dgram.createSocket': () => dgram.createSocket('udp4'),
  'dns.lookup': () => dns.lookup('localhost', nothing),
  'dns.promises.lookup': () => dns.promises.lookup('localhost'),
  'http.request': () => http.request('http://localhost:1'),
  'https.get': () => https.get('https://localhost:1'),
  fetch: () => fetch('http://localhost:1'),
  'childProcess.execFile': () => execFile('true'),
  'childProcess.spawnSync': () => spawnSync('true'),
  'workerThreads.Worker': () => new Worker('', { eval: true }),
  'zlib.gzip': () => gzip(bytes, nothing),
};

async function inWorld(action: () => unknown): Promise<void> {
  const world = new SimWorld({ seed: 1 });
  world.host('a').runtime.clock.setTimer(1, () => void action());
  await world.run({ forMs: 10 });
}

describe('a program that reaches for the real world inside a simulated one', () => {
  it.each(Object.entries(REACHES))('is stopped at %s', async (name, reach) => {
    const failure = await inWorld(reach).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RealWorldError);
    expect(failure).toMatchObject({ reached: name, message: expect.stringContaining(`${name} was called`) });
  });

  it('is told what to use instead', async () => {
    await expect(inWorld(() => Date.now())).rejects.toThrow('runtime.clock');
    await expect(inWorld(() => Math.random())).rejects.toThrow('runtime.random');
    await expect(inWorld(() => fs.existsSync('/'))).rejects.toThrow('runtime.disk');
    await expect(inWorld(() => net.connect(1))).rejects.toThrow('runtime.network');
  });

  it('is stopped in a microtask, too, and when it catches the error', async () => {
    await expect(inWorld(() => Promise.resolve().then(() => Date.now()))).rejects.toThrow('Date.now');
    const swallowed = async () => {
      try {
        await Promise.resolve();
        Math.random();
      } catch {
        await Promise.resolve();
      }
    };
    await expect(inWorld(swallowed)).rejects.toThrow('Math.random');
  });
});

describe('a program inside a simulated world', () => {
  it('may use what is pure', async () => {
    const results: unknown[] = [];
    await inWorld(() => {
      const date = new Date(0);
      results.push(date.toISOString(), date instanceof Date, date.constructor === Date, Date.UTC(1970, 0, 1));
      results.push(crypto.createHash('sha256').update('a').digest().length, gzipSync(bytes).length > 0);
    });
    expect(results).toEqual(['1970-01-01T00:00:00.000Z', true, true, 0, 32, true]);
  });
});

describe('the process around simulated worlds', () => {
  const watched = [...trapList(), { target: globalThis, key: 'Date' }, { target: Date.prototype, key: 'constructor' }];
  const looked = () => watched.map(({ target, key }) => Object.getOwnPropertyDescriptor(target, key));

  it('has its own functions back after a run, also after one that failed', async () => {
    const before = looked();
    expect(before.length).toBeGreaterThan(150);
    await inWorld(nothing);
    expect(looked()).toStrictEqual(before);
    await inWorld(() => Date.now()).catch(nothing);
    expect(looked()).toStrictEqual(before);
    expect(Math.abs(Date.now() - new Date().getTime())).toBeLessThan(1_000_000);
    expect(readFileSync('/dev/null')).toHaveLength(0);
  });

  it('keeps them between the turns of a long run', async () => {
    const world = new SimWorld({ seed: 1 });
    const { clock } = world.host('a').runtime;
    const tick = () => void clock.setTimer(1, tick);
    tick();
    let date = 0;
    setImmediate(() => setImmediate(() => (date = Date.now())));
    await world.run({ until: () => date > 0, maxMs: 10_000_000 });
    expect(date).toBeGreaterThan(0);
  });
});
