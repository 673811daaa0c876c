import { describe, expect, it } from 'vitest';
import { UsageError, parseArguments, type ServerConfig } from '../src/config.ts';

const BASE = '--id 2 --cluster-id local --client 127.0.0.1:7102 --peer 127.0.0.1:7202 --data /tmp/d';
const CLUSTER = '--cluster 1=127.0.0.1:7201,2=127.0.0.1:7202,3=127.0.0.1:7203';

function parse(text: string, environment: Record<string, string> = {}, files: Record<string, string> = {}) {
  return parseArguments({
    arguments: text === '' ? [] : text.split(' '),
    environment,
    readFile: (path) => {
      const content = files[path];
      if (content === undefined) throw new Error(`no such file: ${path}`);
      return content;
    },
  });
}

function config(...sources: Parameters<typeof parse>): ServerConfig {
  const parsed = parse(...sources);
  if (parsed.type !== 'serve') throw new Error(`parsed as ${parsed.type}`);
  return parsed.config;
}

function problem(...sources: Parameters<typeof parse>): string {
  try {
    parse(...sources);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('the settings of a server', () => {
  it('come from flags, with defaults for the rest', () => {
    expect(config(`${BASE} ${CLUSTER}`)).toEqual({
      id: 2,
      clusterId: 'local',
      client: '127.0.0.1:7102',
      peer: '127.0.0.1:7202',
      advertiseClient: undefined,
      data: '/tmp/d',
      members: [
        { id: 1, peerAddress: '127.0.0.1:7201' },
        { id: 2, peerAddress: '127.0.0.1:7202' },
        { id: 3, peerAddress: '127.0.0.1:7203' },
      ],
      insecure: false,
      heartbeatMs: 100,
      electionTimeoutMs: 1_000,
      logLevel: 'info',
    });
  });

  it('are taken from flags over the environment over the file', () => {
    const file = 'cluster-id: from-file\ndata: /file\nlog-level: warn\nid: 2\nclient: 127.0.0.1:1\npeer: 127.0.0.1:2';
    const merged = config(
      '--config lockd.yaml --log-level error',
      { HOLDFAST_DATA: '/environment', HOLDFAST_LOG_LEVEL: 'debug' },
      { 'lockd.yaml': file },
    );
    expect(merged).toMatchObject({ clusterId: 'from-file', data: '/environment', logLevel: 'error' });
  });

  it('can name the members as a mapping in the file', () => {
    const file = 'cluster:\n  1: 127.0.0.1:7201\n  2: 127.0.0.1:7202\n';
    expect(config(`${BASE} --config c`, {}, { c: file }).members).toHaveLength(2);
  });

  it('are those of a server alone when no members are named', () => {
    expect(config(BASE).members).toEqual([{ id: 2, peerAddress: '127.0.0.1:7202' }]);
  });
});

describe('wrong settings', () => {
  it('are named, with what would be right', () => {
    expect(problem('')).toMatch(/--id is missing/);
    expect(problem(`${BASE} --id zero`)).toMatch(/--id "zero" must be a whole number/);
    expect(problem(`${BASE} --client 7101`)).toMatch(/--client "7101" must be host:port/);
    expect(problem(`${BASE} --cluster 1=127.0.0.1:7201`)).toMatch(/must name this server too: add 2=127.0.0.1:7202/);
    expect(problem(`${BASE} --cluster 2=127.0.0.1:1,2=127.0.0.1:2`)).toMatch(/server 2 twice/);
    expect(problem(`${BASE} --cluster 1=127.0.0.1:1,2=127.0.0.1:1`)).toMatch(/address 127.0.0.1:1 twice/);
    expect(problem(`${BASE} --cluster two`)).toMatch(/"two" must be number=host:port/);
    expect(problem(`${BASE} --log-level loud`)).toMatch(/must be one of debug/);
    expect(problem(`${BASE} --heartbeat-ms 500`)).toMatch(/at least three times/);
    expect(problem(`${BASE} --cluster-id a/b`)).toMatch(/cluster-id "a\/b"/);
  });

  it('are flags, files and entries of files that do not exist', () => {
    expect(problem(`${BASE} --clusterid x`)).toMatch(/unknown option '--clusterid'.*--help/s);
    expect(problem(`${BASE} --config none`)).toMatch(/--config none cannot be used: no such file/);
    expect(problem(`${BASE} --config c`, {}, { c: 'clusterid: x' })).toMatch(/unknown setting "clusterid"/);
    expect(problem(`${BASE} extra`)).toMatch(/argument/);
  });

  it('include an advertised peer address that the members contradict', () => {
    expect(problem(`${BASE} ${CLUSTER} --advertise-peer 10.0.0.2:7202`)).toMatch(/must be the same/);
  });
});

describe('listening beyond this machine', () => {
  it('is refused, since nothing checks who connects', () => {
    expect(problem(BASE.replace('127.0.0.1:7102', '0.0.0.0:7102'))).toMatch(/--client 0.0.0.0:7102 .*--insecure/);
    expect(problem(BASE.replace('127.0.0.1:7202', '192.168.0.2:7202'))).toMatch(/--peer 192.168.0.2:7202/);
    expect(problem(BASE.replace('127.0.0.1:7202', '[::]:7202'))).toMatch(/--peer/);
  });

  it('is allowed to who insists', () => {
    const text = BASE.replace('127.0.0.1:7102', '0.0.0.0:7102');
    expect(config(`${text} --insecure`).insecure).toBe(true);
    expect(config(text, { HOLDFAST_INSECURE: 'true' }).insecure).toBe(true);
  });

  it('is not what localhost and ::1 are', () => {
    expect(config(BASE.replace('127.0.0.1:7102', '[::1]:7102')).client).toBe('[::1]:7102');
    expect(config(BASE.replace('127.0.0.1:7102', 'localhost:7102')).client).toBe('localhost:7102');
  });
});

describe('help and version', () => {
  it('are printed instead of serving', () => {
    const help = parse('--help');
    expect(help.type).toBe('print');
    expect(help).toHaveProperty('text', expect.stringContaining('--election-timeout-ms'));
    expect(parse('--version')).toEqual({ type: 'print', text: '0.1.0\n' });
  });
});
