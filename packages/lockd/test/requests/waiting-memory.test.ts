/** What clients can make a server keep while it waits for a leader is filled to its bound, and measured. */

import { bytesInUse } from '@holdfast/state/test/in-use';
import { describe, expect, it } from 'vitest';
import {
  MAX_PARKED_BYTES,
  MAX_PARKED_ENTRIES,
  MAX_PARKED_READS,
  MAX_SESSIONS_PER_ADDRESS,
  MAX_UNANSWERED_READS,
  MAX_UNANSWERED_REQUESTS,
} from '../../src/limits.ts';
import { AddressSessions } from '../../src/sessions/address-sessions.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

const MIB = 1024 * 1024;
const NOISE_BYTES = MIB;
const FOLLOWER = 2;

/** Clients of a follower that knows no leader any more. */
function leaderless(clients: number): { readonly ensemble: LoopbackEnsemble; readonly clients: TestClient[] } {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  const all = Array.from({ length: clients }, (_, n) => {
    const client = ensemble.server(FOLLOWER).connect();
    client.attach(n + 1);
    return client;
  });
  ensemble.depose();
  for (const client of all) client.take();
  return { ensemble, clients: all };
}

/** What `work` leaves in use, of what is kept until then. */
function growth(work: () => void): number {
  const before = bytesInUse();
  work();
  return bytesInUse() - before;
}

describe('what waits for a leader', { timeout: 60_000 }, () => {
  it.each([
    ['large', 200_000],
    ['small', 16],
  ])('is a bounded number of %s requests, for little more than their bytes', (_, length) => {
    const { ensemble, clients } = leaderless(30);
    const data = new Uint8Array(length);
    const perClient = Math.min(MAX_UNANSWERED_REQUESTS, Math.ceil((2 * MAX_PARKED_BYTES) / length / clients.length));
    const used = growth(() => {
      for (let number = 1; number <= perClient; number += 1) {
        for (const client of clients) client.request(number, { type: 'set', path: '/a', data, version: -1 });
        // What was refused is told, and kept by nobody.
        for (const client of clients) client.take();
      }
    });
    expect(used).toBeLessThan(MAX_PARKED_BYTES + MAX_PARKED_ENTRIES * 512 + NOISE_BYTES);
    ensemble.elect(1);
    const answered = clients.flatMap((client) => client.take()).filter(({ type }) => type === 'reply').length;
    expect(answered).toBeGreaterThan(length > 16 ? MAX_PARKED_BYTES / length / 3 : MAX_PARKED_ENTRIES / 2);
    expect(answered).toBeLessThanOrEqual(MAX_PARKED_ENTRIES);
  });

  it('is 20,000 reads, for at most 1 KiB each', () => {
    const { clients } = leaderless(Math.ceil(MAX_PARKED_READS / MAX_UNANSWERED_READS) + 1);
    let refused = 0;
    const used = growth(() => {
      for (const client of clients) {
        for (let id = 1; id <= MAX_UNANSWERED_READS; id += 1) {
          client.read(id, { type: 'exists', path: `/${'x'.repeat(100)}` }, 'linearizable');
        }
        refused += client.take().length;
      }
    });
    expect(refused).toBe(clients.length * MAX_UNANSWERED_READS - MAX_PARKED_READS);
    expect(used).toBeLessThan(MAX_PARKED_READS * 1_024 + NOISE_BYTES);
  });
});

describe('sessions by address', () => {
  it('take at most 256 bytes each, of one address or of as many addresses as there are sessions', () => {
    const addresses = new AddressSessions(undefined);
    const used = growth(() => {
      for (let n = 0; n < MAX_SESSIONS_PER_ADDRESS; n += 1) {
        addresses.created(2 * n, '192.0.2.1:4711');
        addresses.created(2 * n + 1, `[2001:db8::${n.toString(16)}]:${n}`);
      }
    });
    expect(addresses.refusal('192.0.2.1:1')).toBeDefined();
    expect(used).toBeLessThan(2 * MAX_SESSIONS_PER_ADDRESS * 256 + NOISE_BYTES);
  });
});
