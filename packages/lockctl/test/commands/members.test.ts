import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;

const member = (server: number, role: 'voter' | 'learner' | 'observer', connected = true) => ({
  server,
  role,
  peerAddress: `h:720${server}`,
  clientAddress: connected ? `h:710${server}` : '',
  connected,
});

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  client.members = { leader: 1, members: [member(1, 'voter'), member(2, 'learner', false), member(3, 'observer')] };
  outside.client = client;
});

describe('lockctl members', () => {
  it('shows who belongs to the ensemble, in which role, and who leads', async () => {
    expect(await runLockctl(['members'], outside)).toBe(0);
    expect(outside.output.split('\n').map((line) => line.split(/\s{2,}/))).toEqual([
      ['SERVER', 'ROLE', 'PEER ADDRESS', 'CLIENT ADDRESS', 'CONNECTED'],
      ['1', 'voter, leads', 'h:7201', 'h:7101', 'yes'],
      ['2', 'learner', 'h:7202', '-', 'no'],
      ['3', 'observer', 'h:7203', 'h:7103', 'yes'],
      [''],
    ]);
  });

  it.each([
    [['members'], ['members']],
    [
      ['member', 'add', '3', 'h:7203', '--observer', '--join-secret', 's'],
      ['addMember', 3, 'h:7203', { observer: true, joinSecret: 's' }],
    ],
    [
      ['member', 'promote', '3'],
      ['promoteMember', 3],
    ],
    [
      ['member', 'remove', '9'],
      ['removeMember', 9],
    ],
  ])('%j prints the members afterwards as JSON', async (args, call) => {
    expect(await runLockctl(['--json', ...args], outside)).toBe(0);
    expect(client.calls).toEqual([call]);
    expect(JSON.parse(outside.output)).toEqual(client.members);
  });
});

describe('lockctl member', () => {
  it('says what became of the server, and what comes next', async () => {
    expect(await runLockctl(['member', 'add', '2', 'h:7202', '--join-secret', 's'], outside)).toBe(0);
    expect(outside.output).toBe(
      'Server 2 is a learner now. It becomes a voter by itself once it has caught up. "lockctl members" shows it.\n',
    );
    outside.output = '';
    expect(await runLockctl(['member', 'promote', '1'], outside)).toBe(0);
    expect(outside.output).toBe('Server 1 is a voter now.\n');
    outside.output = '';
    expect(await runLockctl(['member', 'remove', '9'], outside)).toBe(0);
    expect(outside.output).toBe('Server 9 is removed. Its process ends with 71, and its number is never used again.\n');
  });

  it.each([
    ['its environment', [], { HOLDFAST_JOIN_SECRET: 'kept' }, ''],
    ['standard input', ['--join-secret', '-'], {}, 'kept\n'],
  ])('takes the join secret from %s, where no other user sees it', async (_, options, variables, input) => {
    Object.assign(outside.variables, variables);
    outside.input = input;
    expect(await runLockctl(['member', 'add', '2', 'h:7202', ...options], outside)).toBe(0);
    expect(client.calls).toEqual([['addMember', 2, 'h:7202', { observer: false, joinSecret: 'kept' }]]);
  });

  it.each(['MEMBERSHIP_REFUSED', 'MEMBER_EXISTS'])('says why it was refused as %s, and where to look', async (code) => {
    client.admin.addMember = () => Promise.reject(new CodedError(code, 'add server 2: no'));
    expect(await runLockctl(['member', 'add', '2', 'h:7202', '--join-secret', 's'], outside)).toBe(1);
    expect(outside.errors).toContain('add server 2: no; look at "lockctl members"');
  });

  it.each([
    [['member', 'add', '4'], 'peer-address'],
    [['member', 'add', 'four', 'h:7204'], 'A server is named by its number'],
    [['member', 'add', '4', 'h:7204'], '--join-secret is missing: the server prints it'],
    [['member', 'add', '4', 'h'], 'is not host:port'],
    [['member', 'add', '4', 'h:1,i:2'], 'It must be one address'],
    [['member', 'remove'], 'id'],
  ])('refuses %j', async (args, problem) => {
    expect(await runLockctl(args, outside)).toBe(2);
    expect(outside.errors).toContain(problem);
    expect(client.calls).toEqual([]);
  });
});
