import { describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

const server = (id: number, fields: object = {}) =>
  Response.json({
    id,
    role: id === 1 ? 'leader' : 'follower',
    term: 3,
    leader: 1,
    commitIndex: 100,
    appliedIndex: 100,
    sessions: 2,
    locks: 1,
    disk: { freeBytes: 5 * 2 ** 30, reserveBytes: 192 * 2 ** 20, low: false, writesRefusedFor: 0 },
    version: '0.1.0',
    ...fields,
  });

function refused(): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) });
}

function ensemble(answers: Readonly<Record<string, Response | Error>>): FakeEnvironment {
  const outside = new FakeEnvironment();
  outside.variables['HOLDFAST_SERVERS'] = Object.keys(answers).join(',');
  outside.answers = answers;
  return outside;
}

describe('status', () => {
  it('shows roles, terms, indexes and lag, and servers that do not answer', async () => {
    const outside = ensemble({
      'a:1': server(1),
      'b:2': server(2, { appliedIndex: 90, stateVersion: 2 }),
      'c:3': refused(),
    });
    expect(await runLockctl(['status'], outside)).toBe(0);
    expect(outside.output.split('\n').map((line) => line.split(/\s{2,}/))).toEqual([
      [
        'SERVER',
        'ADDRESS',
        'ROLE',
        'TERM',
        'LEADER',
        'COMMIT',
        'APPLIED',
        'LAG',
        'SESSIONS',
        'LOCKS',
        'DISK FREE',
        'VERSION',
        'STATE VERSION',
      ],
      ['1', 'a:1', 'leader', '3', '1', '100', '100', '0', '2', '1', '5120 MiB', '0.1.0', '1'],
      ['2', 'b:2', 'follower', '3', '1', '100', '90', '10', '2', '1', '5120 MiB', '0.1.0', '2'],
      ['-', 'c:3', 'unreachable (refused: nothing listens there)'],
      [''],
    ]);
    expect(outside.connections).toEqual([]);
    expect(outside.requested).toContain('http://a:1/status');
  });

  it('shows who is a learner or an observer', async () => {
    const members = [
      { id: 1, role: 'voter' },
      { id: 2, role: 'learner' },
      { id: 3, role: 'observer' },
    ];
    const outside = ensemble({
      'a:1': server(1, { members }),
      'b:2': server(2, { members }),
      'c:3': server(3, { members }),
      'd:4': server(4, { members: [null, 7, { id: 4 }] }),
    });
    expect(await runLockctl(['status'], outside)).toBe(0);
    const roles = outside.output.split('\n').map((line) => line.split(/\s{2,}/)[2]);
    expect(roles).toEqual(['ROLE', 'leader', 'learner', 'observer', 'follower', undefined]);
  });

  it('shows disks that are almost full, and for which the leader refuses writes', async () => {
    const outside = ensemble({
      'a:1': server(1, { disk: { freeBytes: 2 ** 32, low: false, writesRefusedFor: 2 } }),
      'b:2': server(2, { disk: { freeBytes: 100 * 2 ** 20, low: true, writesRefusedFor: 2 } }),
      'c:3': server(3, { disk: { freeBytes: null, low: false, writesRefusedFor: 2 } }),
    });
    expect(await runLockctl(['status'], outside)).toBe(0);
    const [header = '', ...lines] = outside.output.split('\n');
    const place = header.split(/\s{2,}/).indexOf('DISK FREE');
    expect(lines.map((line) => line.split(/\s{2,}/)[place])).toEqual([
      '4096 MiB',
      '100 MiB LOW',
      '?',
      undefined,
      undefined,
    ]);
    expect(lines.at(-2)).toBe('writes are refused: the disk of server 2 is almost full; free space there');
  });

  it('is one JSON document for scripts', async () => {
    const outside = ensemble({ 'a:1': server(1), 'b:2': refused() });
    expect(await runLockctl(['--json', 'status'], outside)).toBe(0);
    expect(JSON.parse(outside.output)).toEqual({
      servers: [
        expect.objectContaining({ address: 'a:1', reachable: true, role: 'leader', lag: 0 }),
        { address: 'b:2', reachable: false, problem: 'refused: nothing listens there' },
      ],
    });
  });

  it('fails when no server answers, after having shown each', async () => {
    const outside = ensemble({
      'a:1': refused(),
      'b:2': new Response('no', { status: 500 }),
      'c:3': Response.json([]),
    });
    expect(await runLockctl(['status'], outside)).toBe(1);
    expect(outside.output).toContain('answered 500: no)');
    expect(outside.output).toContain('what answers there is not a lockd');
    expect(outside.errors).toContain('no server answered; is the ensemble running?');
  });

  it('fails when none knows a leader', async () => {
    const outside = ensemble({ 'a:1': server(1, { role: 'candidate', leader: 0 }) });
    expect(await runLockctl(['status'], outside)).toBe(1);
    expect(outside.errors).toContain('no server knows a leader; a majority of the servers must run');
  });
});
