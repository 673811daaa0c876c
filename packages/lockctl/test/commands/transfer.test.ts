import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
});

describe('lockctl transfer', () => {
  it('names the server that leads afterwards, as text and as JSON', async () => {
    expect(await runLockctl(['transfer', '2'], outside)).toBe(0);
    expect(client.calls).toEqual([['transferLeadership', 2]]);
    expect(outside.output).toBe('Server 2 leads.\n');
    outside.output = '';
    client.calls.length = 0;
    expect(await runLockctl(['--json', 'transfer'], outside)).toBe(0);
    expect(client.calls).toEqual([['transferLeadership', undefined]]);
    expect(JSON.parse(outside.output)).toEqual({ leader: 3 });
  });

  it('says why leadership stayed, and what to look at', async () => {
    const text = 'transfer leadership to server 2: server 2 cannot be reached by the leader';
    client.admin.transferLeadership = () => Promise.reject(new CodedError('TRANSFER_REFUSED', text));
    expect(await runLockctl(['transfer', '2'], outside)).toBe(1);
    expect(outside.errors).toContain(text);
    expect(outside.errors).toContain('lockctl status');
  });

  it('refuses what is no number of a server', async () => {
    expect(await runLockctl(['transfer', 'two'], outside)).toBe(2);
    expect(client.calls).toEqual([]);
  });
});
