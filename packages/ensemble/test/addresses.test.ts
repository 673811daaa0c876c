import { describe, expect, it } from 'vitest';

import {
  clientAddress,
  DEFAULT_BASE_PORT,
  fencedKvAddress,
  HIGHEST_BASE_PORT,
  MAX_SERVERS,
  peerAddress,
  serverIds,
} from '../src/addresses.ts';

describe('the ports of a local ensemble', () => {
  it('are the documented ones by default', () => {
    expect(clientAddress(DEFAULT_BASE_PORT, 1)).toBe('127.0.0.1:7101');
    expect(peerAddress(DEFAULT_BASE_PORT, 3)).toBe('127.0.0.1:7203');
    expect(fencedKvAddress(DEFAULT_BASE_PORT)).toBe('127.0.0.1:7400');
  });

  it.for([DEFAULT_BASE_PORT, HIGHEST_BASE_PORT])('never meet and exist, from base port %i', (basePort) => {
    const all = serverIds(MAX_SERVERS).flatMap((id) => [clientAddress(basePort, id), peerAddress(basePort, id)]);
    all.push(fencedKvAddress(basePort));
    expect(new Set(all).size).toBe(2 * MAX_SERVERS + 1);
    for (const address of all) expect(Number(address.split(':')[1])).toBeLessThanOrEqual(65_535);
  });
});
