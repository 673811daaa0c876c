import { describe, expect, it } from 'vitest';

import { renderGuide } from '../../src/start/guide.ts';

describe('the guide after the start', () => {
  it('says what serves where, who leads and what to try next', () => {
    const text = renderGuide(
      { servers: [1, 2, 3], basePort: 7_100, dataDirectory: '/home/x/.holdfast', leader: 2 },
      '/home/x',
    );
    expect(text).toContain('lockd 2     127.0.0.1:7102         127.0.0.1:7202  .holdfast/server-2   leader');
    expect(text).toContain('fenced-kvd  http://127.0.0.1:7400');
    expect(text).toContain('npx -y pnpm@12 lockctl status\n');
    expect(text).toContain('Logs are in .holdfast/logs');
  });

  it('names the servers where they are not the default ones', () => {
    const text = renderGuide({ servers: [1], basePort: 9_000, dataDirectory: '/data', leader: undefined }, '/home/x');
    expect(text).toContain('lockctl --servers 127.0.0.1:9001 status');
    expect(text).not.toContain('leader');
    expect(text).toContain('Logs are in /data/logs.');
  });
});
