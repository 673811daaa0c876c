import { describe, expect, it } from 'vitest';

import { hostAllowed, hostPolicy, isLoopback } from '../../src/http/guard.ts';
import { parseAddress } from '../../src/http/server.ts';

describe('a server on loopback', () => {
  const policy = hostPolicy('127.0.0.1');

  it.each(['127.0.0.1', '127.0.0.1:7400', 'localhost:1', 'LOCALHOST', '[::1]:7400'])('answers to %s', (host) => {
    expect(hostAllowed(policy, host)).toBe(true);
  });

  it.each([
    'evil.example',
    'evil.example:7400',
    '10.0.0.1',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '',
    '[::2]',
    'localhost:1:2',
  ])('does not answer to %j', (host) => {
    expect(hostAllowed(policy, host)).toBe(false);
  });
});

describe('a server open to the network', () => {
  it('answers to its name and to addresses, which a web page cannot rebind, but to no other name', () => {
    const policy = hostPolicy('kv.internal');
    for (const host of ['kv.internal:7400', '10.1.2.3:7400', '[fd00::1]', 'localhost'])
      expect(hostAllowed(policy, host)).toBe(true);
    expect(hostAllowed(policy, 'evil.example')).toBe(false);
  });

  it('is told from one that is not', () => {
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1', '[::1]']) expect(isLoopback(host)).toBe(true);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'kv.internal', '127.evil.example'])
      expect(isLoopback(host)).toBe(false);
  });
});

describe('an address', () => {
  it('is host and port', () => {
    expect(parseAddress('127.0.0.1:7400')).toEqual({ host: '127.0.0.1', port: 7400 });
    expect(parseAddress('[::1]:0')).toEqual({ host: '::1', port: 0 });
    for (const text of ['7400', ':7400', '127.0.0.1', '127.0.0.1:', '127.0.0.1:65536', '::1:7400', 'a b:x'])
      expect(parseAddress(text)).toBeUndefined();
  });
});
