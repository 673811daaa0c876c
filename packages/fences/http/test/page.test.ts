import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linesOf } from '@holdfast/fence/test/page';
import { expect, it, onTestFinished } from 'vitest';
import { fencedFetch, fenceNode, fileFloors, StaleTokenError } from '../src/index.ts';

const PAGE = 'docs/fences-http.md';
const SERVICE = 0;
const CLIENT = 3;

it(`${PAGE} › its service refuses the stale token that its client sends`, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-http-'));
  const saved: number[] = [];
  let server: Server | undefined;
  onTestFinished(async () => {
    await new Promise((resolve) => server?.close(resolve));
    rmSync(directory, { recursive: true, force: true });
  });
  const listening = new Promise<string>((resolve) => {
    const given = {
      fenceNode,
      fileFloors,
      save: async (token: number) => await Promise.resolve(void saved.push(token)),
      createServer: (listener: RequestListener) => {
        server = createServer(listener);
        const made = server;
        // At a free port, whatever the page says.
        return {
          listen: () => made.listen(0, '127.0.0.1', () => resolve(`localhost:${(made.address() as AddressInfo).port}`)),
        };
      },
    };
    void linesOf(PAGE, given, { place: SERVICE, replaced: { '/var/lib/my-service/floors': directory } })();
  });
  const host = (await listening).replace('localhost', '127.0.0.1');
  const send = (token: number): Promise<void> =>
    linesOf(PAGE, { fencedFetch, held: { token } }, { place: CLIENT, replaced: { 'localhost:8080': host } })();
  await send(7);
  await expect(send(5)).rejects.toBeInstanceOf(StaleTokenError);
  await send(9);
  expect(saved).toEqual([7, 9]);
});
