import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Scraper } from '../../../../src/targets/live/processes/scrape.ts';

const STATUS = { id: 1, role: 'follower', term: 1, commitIndex: 1, lastIndex: 1, members: [] };
const EVERY_MS = 5;
const WAIT = { timeout: 15_000, interval: 10 };
const LIMIT_MS = 40_000;

let server: Server | undefined;
let scraper: Scraper | undefined;

afterEach(() => {
  scraper?.stop();
  server?.close();
});

/** Answers as a server does that has installed so many snapshots. */
async function scraperOf(installed: () => number): Promise<Scraper> {
  const answering = createServer(({ url }, response) => {
    const metrics = `holdfast_snapshots_total{group="0",how="installed",} ${installed()}\n`;
    response.end(url === '/metrics' ? metrics : JSON.stringify(STATUS));
  });
  server = answering;
  await new Promise<void>((resolve) => void answering.listen(0, '127.0.0.1', resolve));
  const { port } = answering.address() as AddressInfo;
  const broken = (problem: string): void => expect.fail(problem);
  scraper = new Scraper(new Map([['s1', `127.0.0.1:${port}`]]), broken, () => {}, EVERY_MS);
  scraper.start();
  return scraper;
}

describe('what servers have counted', () => {
  it(
    'is that of all their processes, even where a new one has counted as much as the one before',
    async () => {
      let installed = 1;
      const scraped = await scraperOf(() => installed);
      await vi.waitFor(() => expect(scraped.counts.snapshotsInstalled).toBe(1), WAIT);
      scraped.down('s1');
      await vi.waitFor(() => expect(scraped.counts.snapshotsInstalled).toBe(2), WAIT);
      installed = 3;
      await vi.waitFor(() => expect(scraped.counts.snapshotsInstalled).toBe(4), WAIT);
      expect(scraped.counts.snapshotsTaken).toBe(0);
    },
    LIMIT_MS,
  );
});
