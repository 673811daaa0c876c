import { describe, expect, it } from 'vitest';
import { hostsOf } from '../../src/settings/address.ts';
import { UsageError, parseArguments, type ServerConfig } from '../../src/settings/config.ts';

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
      advertisePeer: undefined,
      allowHosts: [],
      data: '/tmp/d',
      members: [
        { id: 1, peerAddress: '127.0.0.1:7201' },
        { id: 2, peerAddress: '127.0.0.1:7202' },
        { id: 3, peerAddress: '127.0.0.1:7203' },
      ],
      join: false,
      insecure: false,
      heartbeatMs: 100,
      electionTimeoutMs: 1_000,
      snapshotLogBytes: 128 * 1024 * 1024,
      snapshotTrailingBytes: 32 * 1024 * 1024,
      snapshotBytesPerSecond: 32 * 1024 * 1024,
      containerCheckMs: 60_000,
      maxConnectionsPerAddress: undefined,
      watchHistoryBytes: 32 * 1024 * 1024,
      logLevel: 'info',
      traceRaft: undefined,
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

describe('a server that joins', () => {
  it('names no members, whether the flag, the environment or the file says so', () => {
    const joining = { join: true, members: [] };
    expect(config(`${BASE} --join`)).toMatchObject(joining);
    expect(config(BASE, { HOLDFAST_JOIN: '1' })).toMatchObject(joining);
    expect(config(`${BASE} --config c`, {}, { c: 'join: true' })).toMatchObject(joining);
    expect(config(`${BASE} --join --advertise-peer h:1`).advertisePeer).toBe('h:1');
  });

  it('contradicts a list of members, and both are named as they were given', () => {
    expect(problem(`${BASE} --join ${CLUSTER}`)).toMatch(
      /^--join and --cluster contradict each other: .*leave out one/,
    );
    expect(problem(`${BASE} --config c`, { HOLDFAST_JOIN: 'true' }, { c: 'cluster: 1=h:1' })).toMatch(
      /^HOLDFAST_JOIN and c: cluster contradict/,
    );
    expect(problem(BASE, { HOLDFAST_JOIN: 'maybe' })).toContain('HOLDFAST_JOIN "maybe" must be true or false');
  });

  it('must have a peer address that the others can dial', () => {
    const anyPort = '--id 4 --cluster-id c --client 127.0.0.1:0 --peer 127.0.0.1:0 --data /tmp/d --join';
    expect(problem(anyPort)).toMatch(/--peer 127.0.0.1:0 must have a port from 1.*--advertise-peer/);
    expect(config(`${anyPort} --advertise-peer 10.0.0.4:7204`).members).toEqual([]);
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

  const IN_CLUSTER = `${BASE} --cluster`;
  it.each([
    ['a flag without its value', '--id', /option '--id <number>' argument missing; lockd --help/],
    ['a flag that there is not', `${BASE} --ids 1`, /unknown option '--ids'.*lockd --help/],
    ['a command that there is not', 'serve', /unknown command|too many arguments/],
    ['no number', `${BASE} --id`, /argument missing/],
    ['number 0', `${BASE} --id 0`, /--id "0" must be a whole number from 1 to 2147483647/],
    ['a number that is too large', `${BASE} --id 2147483648`, /--id "2147483648" must be a whole number from 1/],
    ['a number with more', `${BASE} --id 1st`, /--id "1st" must be a whole number/],
    ['a negative time', `${BASE} --heartbeat-ms=-100`, /--heartbeat-ms "-100" must be a whole number from 10 to 60000/],
    ['a time with a unit', `${BASE} --election-timeout-ms 1s`, /--election-timeout-ms "1s" must be a whole number/],
    [
      'a tiny log',
      `${BASE} --snapshot-log-bytes 1000`,
      /--snapshot-log-bytes "1000" must be a whole number from 1048576/,
    ],
    ['no connections', `${BASE} --max-connections-per-address 0`, /--max-connections-per-address "0" must be/],
    [
      'a negative history',
      `${BASE} --watch-history-bytes -1`,
      /--watch-history-bytes "-1" must be a whole number from 0 to/,
    ],
    ['no pace at all', `${BASE} --snapshot-bytes-per-second 0`, /--snapshot-bytes-per-second "0" must be/],
    ['a cluster without a name', `${BASE} --cluster-id=`, /--cluster-id is missing/],
    ['a long name', `${BASE} --cluster-id ${'x'.repeat(101)}`, /must be up to 100 letters/],
    ['a host without a port', `${BASE} --client localhost`, /--client "localhost" must be host:port/],
    ['a port without a host', `${BASE} --peer :7201`, /--peer ":7201" must be host:port/],
    ['an empty port', `${BASE} --client 127.0.0.1:`, /--client "127.0.0.1:" must have a port from 0 to 65535/],
    ['a port too high', `${BASE} --client 127.0.0.1:65536`, /must have a port from 0 to 65535/],
    ['a port that is none', `${BASE} --client 127.0.0.1:http`, /must have a port from 0 to 65535/],
    ['a URL', `${BASE} --client http://127.0.0.1:7101`, /--client "http:.*" must be host:port, nothing before/],
    ['a path', `${BASE} --client 127.0.0.1:7101/`, /must be host:port, nothing before or behind it/],
    ['IPv6 without brackets', `${BASE} --client ::1:7101`, /must have its IPv6 host in brackets, as in \[::1\]:7101/],
    ['half a bracket', `${BASE} --client [::1:7101`, /in brackets/],
    ['an advertised port 0', `${BASE} --advertise-client 127.0.0.1:0`, /--advertise-client .* a port from 1 to 65535/],
    ['an empty list of members', `${IN_CLUSTER}=`, /--cluster: "" must be number=host:port/],
    [
      'a member without a number',
      `${IN_CLUSTER} 127.0.0.1:7202`,
      /--cluster: "127.0.0.1:7202" must be number=host:port/,
    ],
    ['a member 0', `${IN_CLUSTER} 0=127.0.0.1:7202`, /"0=127.0.0.1:7202" must be number=host:port, the number from 1/],
    ['a member without a port', `${IN_CLUSTER} 2=127.0.0.1`, /"2=127.0.0.1" must be host:port/],
    ['a member at port 0', `${IN_CLUSTER} 2=127.0.0.1:0`, /"2=127.0.0.1:0" must have a port from 1 to 65535/],
    ['a comma at the end', `${IN_CLUSTER} 2=127.0.0.1:7202,`, /--cluster: "" must be number=host:port/],
    ['a semicolon', `${IN_CLUSTER} 2=127.0.0.1:7202;1=127.0.0.1:7201`, /--cluster: .* must/],
    ['inspect without a directory', 'inspect', /inspect needs --data <directory>/],
    ['lifting a ban without a directory', 'lift-vote-ban', /lift-vote-ban needs --data <directory>/],
    ['inspect with more', 'inspect --data /d /e', /too many arguments/],
  ])('are refused in one line that names them: %s', (_, text, message) => {
    expect(problem(text)).toMatch(message);
    expect(problem(text)).not.toContain('\n');
  });

  it.each([
    ['HOLDFAST_ID', 'two', /^HOLDFAST_ID "two" must be a whole number/],
    ['HOLDFAST_PEER', '7201', /^HOLDFAST_PEER "7201" must be host:port/],
    ['HOLDFAST_CLUSTER', '1=127.0.0.1:7201', /^HOLDFAST_CLUSTER must name this server too: add 2=/],
    ['HOLDFAST_INSECURE', 'yes', /^HOLDFAST_INSECURE "yes" must be true or false/],
    ['HOLDFAST_HEARTBEAT_MS', '999', /at least three times HOLDFAST_HEARTBEAT_MS 999/],
    ['HOLDFAST_CONFIG', 'none', /^HOLDFAST_CONFIG none cannot be used: no such file/],
  ])('are called what the environment calls them: %s', (variable, value, message) => {
    const without = BASE.replace('--id 2', variable === 'HOLDFAST_ID' ? '' : '--id 2');
    const flags = variable === 'HOLDFAST_PEER' ? without.replace('--peer 127.0.0.1:7202', '') : without;
    expect(problem(flags.replaceAll(/ +/g, ' ').trim(), { [variable]: value })).toMatch(message);
  });

  it.each([
    ['a list', '- id: 1', /--config c must be a YAML mapping such as "id: 1"/],
    ['a text', 'id 1', /--config c must be a YAML mapping/],
    ['nothing', '', /--config c must be a YAML mapping/],
    ['no YAML', 'id: [1', /--config c cannot be used: .+/],
    ['the same name twice', 'data: /a\ndata: /b', /--config c cannot be used: Map keys must be unique/],
    ['a name that there is not', 'clusterId: x', /unknown setting "clusterId"; there are id, cluster-id/],
    ['nothing for a name', 'log-level:', /c: log-level must be a text, a number or a boolean/],
    ['a list for a name', 'log-level: [info]', /c: log-level must be a text/],
    ['a wrong value', 'log-level: loud', /c: log-level "loud" must be one of debug/],
    ['a fraction', 'heartbeat-ms: 0.5', /c: heartbeat-ms "0.5" must be a whole number/],
    [
      'a list of members',
      'cluster: [127.0.0.1:7202]',
      /c: cluster must be a mapping of numbers to addresses, or a text/,
    ],
    ['a member without an address', 'cluster:\n  2:', /c: cluster: 2 must be a text/],
    ['a member without a port', 'cluster:\n  2: localhost', /c: cluster: "2=localhost" must be host:port/],
  ])('are called what the file calls them: %s', (_, content, message) => {
    expect(problem(`${BASE} --config c`, {}, { c: content })).toMatch(message);
    expect(problem(`${BASE} --config c`, {}, { c: content })).not.toContain('\n');
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
    const text = `${BASE.replace('127.0.0.1:7102', '0.0.0.0:7102')} --advertise-client 10.0.0.2:7102`;
    expect(config(`${text} --insecure`).insecure).toBe(true);
    expect(config(text, { HOLDFAST_INSECURE: 'true' }).insecure).toBe(true);
  });

  it('is not what localhost and ::1 are', () => {
    expect(config(BASE.replace('127.0.0.1:7102', '[::1]:7102')).client).toBe('[::1]:7102');
    expect(config(BASE.replace('127.0.0.1:7102', 'localhost:7102')).client).toBe('localhost:7102');
  });
});

describe('every address of a machine', () => {
  const open = `${BASE} --insecure`;

  it.each(['0.0.0.0', '[::]', '[0:0:0:0:0:0:0:0]', '0', '[::ffff:0.0.0.0]', '*'])(
    'is never told to clients or other servers: %s',
    (host) => {
      const client = open.replace('127.0.0.1:7102', `${host}:7102`);
      expect(problem(client)).toBe(
        `--client ${host}:7102 listens on every address of this machine, and nobody can dial that: ` +
          'add --advertise-client host:port, where clients reach this server',
      );
      expect(problem(open.replace('127.0.0.1:7202', `${host}:7202`))).toMatch(/add --advertise-peer host:port/);
      expect(problem(`${open} --advertise-client ${host}:7102`)).toMatch(/--advertise-client .*nobody can dial/);
      expect(problem(`${open} --advertise-peer ${host}:7202`)).toMatch(/--advertise-peer .*nobody can dial/);
      expect(problem(`${open} --cluster 1=127.0.0.1:7201,2=${host}:7202`)).toMatch(/--cluster: .*nobody can dial/);
      expect(problem(`${open.replace('127.0.0.1:7202', `${host}:7202`)} --join`)).toMatch(/--advertise-peer/);
    },
  );

  it('can be listened on by a server that says where it is reached', () => {
    const advertised = '--advertise-client 10.0.0.2:7102 --advertise-peer locks-2.example.com:7202';
    const wild = open.replace('127.0.0.1:7102', '0.0.0.0:7102').replace('127.0.0.1:7202', '[::]:7202');
    expect(config(`${wild} ${advertised}`)).toMatchObject({ advertiseClient: '10.0.0.2:7102' });
    // The members name its own address.
    const named = open.replace('127.0.0.1:7202', '0.0.0.0:7202');
    expect(config(`${named} --cluster 2=10.0.0.2:7202`).members).toEqual([{ id: 2, peerAddress: '10.0.0.2:7202' }]);
  });
});

describe('the hosts that requests may name', () => {
  it('are given several times, as a list, in the environment or in the file', () => {
    expect(config(`${BASE} --allow-host locks.example.com --allow-host 10.0.0.9,[fd00::1]`).allowHosts).toEqual([
      'locks.example.com',
      '10.0.0.9',
      '[fd00::1]',
    ]);
    expect(config(BASE, { HOLDFAST_ALLOW_HOST: 'a, b' }).allowHosts).toEqual(['a', 'b']);
    const file = 'allow-host:\n  - a\n  - b.example.com.\n';
    expect(config(`${BASE} --config c`, {}, { c: file }).allowHosts).toEqual(['a', 'b.example.com.']);
  });

  it.each(['*', '*.example.com', 'locks.example.com:7102', 'http://a', ''])(
    'are no patterns, ports or URLs: "%s"',
    (host) => {
      expect(problem(BASE, { HOLDFAST_ALLOW_HOST: `${host},a` })).toMatch(
        /HOLDFAST_ALLOW_HOST: ".*" must be a name or an address/,
      );
    },
  );

  it('are its own names, and any address where it listens on every address', () => {
    const own = ['localhost', '127.0.0.1', '::1'];
    expect(hostsOf('10.0.0.2:7102', 'locks-2:7102', ['vip'])).toEqual({
      names: [...own, '10.0.0.2', 'locks-2', 'vip'],
      anyAddress: false,
    });
    expect(hostsOf('[::]:7102', 'locks-2:7102', [])).toEqual({ names: [...own, '::', 'locks-2'], anyAddress: true });
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
