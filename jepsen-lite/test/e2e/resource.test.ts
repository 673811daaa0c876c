import { createServer, request as send } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FencedKv } from '@holdfast/fenced-kv-client';
import { jepsenResource, startScratch, type Scratch } from '../resource/support/command.ts';
import { HttpResource } from '../resource/support/http-resource.ts';

const FIXTURES = join(import.meta.dirname, '../resource/fixtures');

interface Report {
  readonly verdict: string;
  readonly findings: readonly {
    readonly name: string;
    readonly verdict: string;
    readonly warnings: readonly string[];
  }[];
}

describe('jepsen resource', () => {
  let scratch: Scratch;
  let wrong: HttpResource;
  beforeAll(async () => {
    [scratch, wrong] = await Promise.all([startScratch(), HttpResource.start()]);
  });
  afterAll(async () => {
    wrong.stop();
    await scratch.stop();
  });

  function ours(bucket: string): string {
    return `${scratch.fencedKvUrl}/v1/buckets/${bucket}/keys/k`;
  }

  it('says that our own store is safe, with an ensemble that it starts and ends itself', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'holdfast-own-'));
    const install = `${scratch.fencedKvUrl}/v1/buckets/own/fence`;
    const args = ['--fence', ours('own'), '--install-url', install, '--rounds', '20', '--json'];
    const { code, stdout, stderr } = await jepsenResource(args, { env: { TMPDIR: temporary } });
    expect(code, stdout + stderr).toBe(0);
    const { findings } = JSON.parse(stdout) as Report;
    expect(findings.map(({ verdict }) => verdict)).toEqual(Array.from({ length: 8 }, () => 'safe'));
    expect(findings.flatMap(({ warnings }) => warnings)).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
    rmSync(temporary, { recursive: true });
  });

  it('warns of a bucket that takes writes without a token, and catches one whose tokens are lost on the way', async () => {
    await new FencedKv(scratch.fencedKvUrl).bucket('optional').create({ tokens: 'optional' });
    const shared = ['--servers', scratch.servers, '--rounds', '5'];
    const warned = await jepsenResource(['--fence', ours('optional'), ...shared, '--only', 'no-token']);
    expect(warned.stdout).toContain('WARNING: a write without a token got in');
    expect(warned.code, warned.stderr).toBe(0);

    const proxy = await withoutTokens(scratch.fencedKvUrl);
    const args = ['--fence', ours('optional').replace(scratch.fencedKvUrl, proxy.url), ...shared];
    const caught = await jepsenResource([...args, '--only', 'paused-holder', 'zombie', 'late-packet']);
    proxy.stop();
    expect(caught.code, caught.stdout + caught.stderr).toBe(1);
    expect(caught.stdout.match(/STALE GOT IN/g)).toHaveLength(3);
    expect(caught.stdout).toContain('is stopped (SIGSTOP)');
    expect(caught.stdout).toContain('which the network holds back');
    expect(caught.stdout).toContain('AND token <= $2');
  });

  it.each([
    ['correct', 0, ['zombie', 'late-packet', 'own-repeats'], /^SAFE: /m],
    ['unfenced', 1, ['late-packet'], /^late-packet +STALE GOT IN/m],
    ['two-steps', 1, ['late-packet', 'race'], /^late-packet +safe[\s\S]*^race +STALE GOT IN/m],
    ['once-each', 2, ['own-repeats'], /8 of 10 writes of the newest holder were not taken/],
    ['refuses-all', 2, ['zombie'], /the very first write was refused/],
  ])('judges a module whose fence is %s with exit code %i', async (rule, exitCode, only, told) => {
    const args = [
      '--fence',
      join(FIXTURES, 'over-http.mjs'),
      '--servers',
      scratch.servers,
      '--rounds',
      '40',
      '--only',
      ...only,
    ];
    const { code, stdout, stderr } = await jepsenResource(args, { env: { RESOURCE_URL: wrong.url(rule) } });
    expect(stdout, stderr).toMatch(told);
    expect(code).toBe(exitCode);
  });

  it('catches a fence that each process has for itself', async () => {
    const args = [
      '--fence',
      join(FIXTURES, 'forgets.mjs'),
      '--servers',
      scratch.servers,
      '--only',
      'paused-holder',
      '--rounds',
      '1',
    ];
    const { code, stdout, stderr } = await jepsenResource(args, {
      env: { RESOURCE_FILE: join(scratch.directory, 'value') },
    });
    expect(stdout, stderr).toMatch(/^paused-holder +STALE GOT IN/m);
    expect(code).toBe(1);
  });

  it.each([
    [['--fence', join(FIXTURES, 'nothing.mjs')], /must export a function open\(\)/],
    [['--fence', 'http://127.0.0.1:1/k'], /the first read failed, so nothing was tried: connect ECONNREFUSED/],
    [['--fence', 'x', '--only', 'nope'], /Allowed choices are paused-holder, zombie/],
  ])('ends with 3 for %j', async (args, message) => {
    const { code, stderr } = await jepsenResource([...args, '--servers', scratch.servers]);
    expect(stderr).toMatch(message);
    expect(code).toBe(3);
  });
});

/** A proxy that takes the token off every request. */
async function withoutTokens(target: string): Promise<{ readonly url: string; readonly stop: () => void }> {
  const server = createServer((incoming, outgoing) => {
    const { 'fencing-token': _, ...headers } = incoming.headers;
    const { method } = incoming;
    const passed = send(
      `${target}${incoming.url}`,
      { ...(method === undefined ? {} : { method }), headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      },
    );
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close().closeAllConnections(),
  };
}
