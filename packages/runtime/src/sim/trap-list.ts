/**
 * What reaches the real world behind a host's back: real time, randomness, files, sockets, processes and thread pools. Only
 * names: `traps.ts` replaces them. Synchronous pure functions (hashes, compression with a Sync name) are not in it.
 */

/* oxlint-disable no-restricted-globals -- names what nothing else in the simulated runtime may touch */

/** What of the real world a function reaches for, and what a program uses instead. */
export const INSTEAD = {
  time: "the clock of the host's runtime (runtime.clock)",
  randomness: "the randomness of the host's runtime (runtime.random)",
  files: "the disk of the host's runtime (runtime.disk)",
  network: "the network of the host's runtime (runtime.network)",
  processes: 'a host of the world for each process',
  threads: 'the synchronous form: no event waits for the real thread pool',
} as const;

export type Reach = keyof typeof INSTEAD;

export interface Trapped {
  readonly target: object;
  readonly key: string;
  /** As a user of it writes it. */
  readonly name: string;
  readonly reach: Reach;
}

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate'];
const SERVERS_AND_REQUESTS = ['createServer', 'createSecureServer', 'connect', 'createConnection', 'request', 'get'];

/** All but `Date`, which is a class of which only some uses are trapped. Loads what a world without traps need not wait for. */
export function trapList(): readonly Trapped[] {
  const childProcess = process.getBuiltinModule('node:child_process');
  const crypto = process.getBuiltinModule('node:crypto');
  const dgram = process.getBuiltinModule('node:dgram');
  const dns = process.getBuiltinModule('node:dns');
  const fs = process.getBuiltinModule('node:fs');
  const http = process.getBuiltinModule('node:http');
  const http2 = process.getBuiltinModule('node:http2');
  const https = process.getBuiltinModule('node:https');
  const net = process.getBuiltinModule('node:net');
  const timers = process.getBuiltinModule('node:timers');
  const timersPromises = process.getBuiltinModule('node:timers/promises');
  const tls = process.getBuiltinModule('node:tls');
  const workerThreads = process.getBuiltinModule('node:worker_threads');
  const zlib = process.getBuiltinModule('node:zlib');
  const { scheduler } = timersPromises;
  return [
    ...named('time', '', globalThis, TIMERS),
    ...named('time', 'timers.', timers, TIMERS),
    ...named('time', 'timersPromises.', timersPromises, TIMERS),
    ...named('time', 'timersPromises.scheduler.', prototypeOf(scheduler), ['wait', 'yield']),
    ...named('time', 'performance.', prototypeOf(performance), ['now', 'mark', 'measure']),
    ...named('time', 'process.', process, ['hrtime', 'uptime']),
    ...named('time', 'AbortSignal.', AbortSignal, ['timeout']),
    ...named('time', 'Atomics.', Atomics, ['wait', 'waitAsync']),
    ...named('randomness', 'Math.', Math, ['random']),
    ...named('randomness', 'crypto.', prototypeOf(globalThis.crypto), ['getRandomValues', 'randomUUID']),
    ...named('randomness', 'crypto.', crypto, matching(crypto, /^(?:random|generate)/)),
    ...named('threads', 'crypto.', crypto, ['pbkdf2', 'scrypt', 'hkdf', 'checkPrime']),
    ...named(
      'threads',
      'zlib.',
      zlib,
      Object.keys(zlib).filter((key) => `${key}Sync` in zlib),
    ),
    ...named('files', 'fs.', fs, matching(fs, /^[a-z]/)),
    ...named('files', 'fs.promises.', fs.promises, matching(fs.promises, /^[a-z]/)),
    ...named('network', '', globalThis, ['fetch', 'WebSocket', 'EventSource', 'BroadcastChannel']),
    ...named('network', 'net.', net, SERVERS_AND_REQUESTS),
    ...named('network', 'net.Socket.prototype.', net.Socket.prototype, ['connect']),
    ...named('network', 'net.Server.prototype.', net.Server.prototype, ['listen']),
    ...named('network', 'tls.', tls, SERVERS_AND_REQUESTS),
    ...named('network', 'http.', http, SERVERS_AND_REQUESTS),
    ...named('network', 'https.', https, SERVERS_AND_REQUESTS),
    ...named('network', 'http2.', http2, SERVERS_AND_REQUESTS),
    ...named('network', 'dgram.', dgram, ['createSocket']),
    ...named('network', 'dgram.Socket.prototype.', dgram.Socket.prototype, ['bind', 'connect', 'send']),
    ...named('network', 'dns.', dns, matching(dns, /^(?:lookup|resolve|reverse)/)),
    ...named('network', 'dns.promises.', dns.promises, matching(dns.promises, /^(?:lookup|resolve|reverse)/)),
    ...named('processes', 'childProcess.', childProcess, matching(childProcess, /^(?:exec|fork|spawn)/)),
    ...named('processes', 'workerThreads.', workerThreads, ['Worker']),
  ];
}

/** Those of the keys that this version of Node.js has. */
function named(reach: Reach, prefix: string, target: object, keys: readonly string[]): Trapped[] {
  return keys
    .filter((key) => Object.hasOwn(target, key))
    .map((key) => ({ target, key, name: `${prefix}${key}`, reach }));
}

function matching(target: object, pattern: RegExp): string[] {
  return Object.keys(target).filter((key) => pattern.test(key) && typeof Reflect.get(target, key) === 'function');
}

function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) as object;
}
