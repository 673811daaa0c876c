import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from '../src/index.ts';

describe('an address', () => {
  it('survives parsing and printing, IPv6 in brackets', () => {
    for (const address of ['127.0.0.1:7101', 'server-1.example:0', '[::1]:65535', '[fe80::1%eth0]:1']) {
      const { host, port } = parseAddress(address);
      expect(formatAddress(host, port)).toBe(address);
      expect(host).not.toContain('[');
    }
  });

  it('is refused when it is anything else', () => {
    for (const text of [
      '',
      'host',
      'host:',
      ':1',
      '::1:7101',
      'host:65536',
      'host:-1',
      'ws://host:1',
      'a b:1',
      'h:1/',
    ]) {
      expect(() => parseAddress(text)).toThrow(TypeError);
    }
  });
});
