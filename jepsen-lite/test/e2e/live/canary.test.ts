import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Canaries, CANARY_PORT } from '../../../src/targets/live/network/canary.ts';
import type { LiveNetwork } from '../../../src/targets/live/network/live-network.ts';
import { loopback } from '../../../src/targets/live/network/loopback.ts';
import { proxied } from '../../../src/targets/live/network/proxy/proxied-network.ts';

/** More than a calm link needs on a busy machine. */
const LIMIT_MS = 3_000;
const HOSTS = ['a', 'b', 'c'];

let network: LiveNetwork;
let canaries: Canaries;

beforeEach(async () => {
  network = await proxied(await loopback(HOSTS, [CANARY_PORT]), HOSTS, [CANARY_PORT]);
  canaries = await Canaries.start(network, HOSTS);
});

afterEach(() => {
  canaries.close();
  network.close();
});

describe('the canaries of a live run', { timeout: 60_000 }, () => {
  it('find every link sound, before faults and after healing', async () => {
    expect(await canaries.silent(LIMIT_MS)).toEqual([]);
    await network.delays?.limit('a', 'b', 20_000);
    await network.links?.cut([['c', 'a']]);
    await network.heal();
    expect(await canaries.silent(LIMIT_MS)).toEqual([]);
  });

  it('find the link that is cut one way still, from both its ends', async () => {
    await network.links?.cut([['c', 'a']]);
    expect(sorted(await canaries.silent(LIMIT_MS))).toEqual(['a>c', 'c>a']);
  });

  it('find the link that is narrow one way still, from both its ends', async () => {
    await network.delays?.limit('a', 'b', 20_000);
    expect(sorted(await canaries.silent(LIMIT_MS))).toEqual(['a>b', 'b>a']);
  });
});

function sorted(links: readonly (readonly [string, string])[]): string[] {
  return links.map((link) => link.join('>')).toSorted();
}
