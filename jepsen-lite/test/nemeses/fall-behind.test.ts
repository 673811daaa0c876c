import { describe, expect, it } from 'vitest';
import { fallBehind } from '../../src/nemeses/processes/fall-behind.ts';
import type { Capabilities, TargetWith } from '../../src/nemeses/target.ts';

const FAULT = { kind: 'fall-behind', atMs: 0, forMs: 1_000, hosts: ['s2', 's3'] } as const;

function processesThat(forgotten?: (host: string) => Promise<void>) {
  const log: string[] = [];
  const act = (what: string) => (host: string) => void log.push(`${what} ${host}`);
  const processes: Capabilities['processes'] = {
    kill: act('kill'),
    terminate: act('terminate'),
    pause: act('pause'),
    resume: act('resume'),
    start: act('start'),
    ...(forgotten !== undefined && { forgotten }),
  };
  const target: TargetWith<'processes'> = {
    processes,
    struck: new Map(),
    hostOf: (name) => name,
    after: () => {},
    faultBegins: () => {},
    faultEnded: () => {},
    heal: () => undefined,
    failed: (error) => void log.push(`failed: ${String(error)}`),
  };
  return { log, target };
}

describe('servers that fall behind', () => {
  it('start again at the planned time where a target says nothing of logs', () => {
    const { log, target } = processesThat();
    void fallBehind.begin(FAULT, target);
    void fallBehind.end?.(FAULT, target);
    expect(log).toEqual(['kill s2', 'kill s3', 'start s2', 'start s3']);
  });

  it('start only when the others have forgotten the log that they lack, each by itself', async () => {
    const forget = new Map<string, () => void>();
    const { log, target } = processesThat((host) => new Promise((resolve) => forget.set(host, resolve)));
    void fallBehind.begin(FAULT, target);
    const ended = fallBehind.end?.(FAULT, target);
    expect(log).toEqual(['kill s2', 'kill s3']);
    forget.get('s3')?.();
    await Promise.resolve();
    expect(log).toEqual(['kill s2', 'kill s3', 'start s3']);
    forget.get('s2')?.();
    await ended;
    expect(log).toEqual(['kill s2', 'kill s3', 'start s3', 'start s2']);
  });
});
