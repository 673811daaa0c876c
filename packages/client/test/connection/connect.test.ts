import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { ConnectionError, HoldfastError, InvalidArgumentError } from '../../src/errors.ts';
import { connect } from '../../src/connect.ts';
import type { ConnectOptions } from '../../src/options.ts';
import { scenario } from '../support/scenario.ts';

describe('connect', () => {
  it('refuses options that cannot work, and names them', async () => {
    const { world, connecting } = await scenario();
    const problems: readonly [object, RegExp][] = [
      [{ servers: [] }, /servers/],
      [{ servers: ['localhost'] }, /"localhost", which is not host:port/],
      [{ servers: ['localhost:99999'] }, /host:port/],
      [{ sessionTimeoutMs: 999 }, /sessionTimeoutMs is 999/],
      [{ sessionTimeoutMs: 120_001 }, /sessionTimeoutMs/],
      [{ label: 'x'.repeat(257) }, /label/],
      [{ requestTimeoutMs: -1 }, /requestTimeoutMs/],
      [{ logger: {} }, /logger has no method debug, info, warn, error; pass a pino instance, console/],
      [{ logger: 'verbose' }, /logger has no method/],
      [{ logger: { ...silentLogger, info: undefined } }, /logger has no method info;/],
      [{ logger: { ...silentLogger, warn: 5 } }, /logger has no method warn;/],
      [{ failFast: 'yes' }, /failFast is "yes"/],
      [{ sessionTimeout: 5_000 }, /no option "sessionTimeout"; did you mean sessionTimeoutMs\?/],
      [{ sesionTimeoutMs: 5_000 }, /did you mean sessionTimeoutMs\?/],
      [{ server: 'localhost:1' }, /did you mean servers\?/],
      [{ fruit: true }, /no option "fruit"; known are servers/],
    ];
    for (const [options, message] of problems) {
      const error = await world.rejection(connecting(options));
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toMatch(message);
    }
  });

  it.each([[undefined], [null], ['127.0.0.1:7101'], [7101]])(
    'without options, but %j, says what it takes',
    async (options) => {
      const error: unknown = await connect(options as unknown as ConnectOptions).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toMatch(/connect takes an object with options, servers,.*it was given/);
    },
  );

  it('gives up after connectTimeoutMs and says what each server did', async () => {
    const { world, ensemble, connecting, host } = await scenario();
    for (const server of ensemble.servers) server.host.crash();
    const error = await world.rejection(connecting({ connectTimeoutMs: 2_000 }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toMatch(/2000 ms.*server-1:7100 refused/);
    expect(error).toMatchObject({ retryable: true });
    await world.sleep(1_000);
    expect(host.timers).toBe(0);
  });

  it('gives up at once with failFast when no server can be reached', async () => {
    const { world, ensemble, connecting, host } = await scenario();
    for (const server of ensemble.servers) server.host.crash();
    const before = world.nowMs;
    const error = await world.rejection(connecting({ failFast: true }));
    expect(error).toMatchObject({ code: 'CONNECTION_FAILED', retryable: true });
    expect((error as Error).message).toMatch(/no server could be reached: .*server-1:7100 refused/);
    expect(world.dials.map(({ address }) => address).toSorted()).toEqual(ensemble.addresses);
    expect(world.nowMs - before).toBeLessThan(1_000);
    await world.sleep(1_000);
    expect(host.timers).toBe(0);
  });

  it('waits with failFast for a server that answers, and after a loss for any', async () => {
    const { world, ensemble, connecting } = await scenario();
    for (const id of [1, 2]) ensemble.server(id).host.down = true;
    ensemble.server(3).goodbye = { type: 'goodbye', code: 'NO_LEADER', message: 'no majority here' };
    const connected = connecting({ failFast: true, preferLeader: false });
    await world.sleep(3_000);
    ensemble.server(3).goodbye = undefined;
    const client = await world.settled(connected);
    ensemble.server(3).host.crash();
    await world.sleep(3_000);
    expect(client.state).toBe('suspended');
    ensemble.server(1).host.down = false;
    await world.until(() => client.state === 'connected');
  });

  it('logs to console, or to what has as much', async () => {
    const { connect } = await scenario();
    const said: unknown[] = [];
    const plain = {
      debug() {},
      warn() {},
      error() {},
      info: (fields: object, text: string) => void said.push(fields, text),
    };
    const client = await connect({ logger: plain });
    expect(said).toMatchObject([{ sessionId: client.sessionId, state: 'connected' }, 'the session changed its state']);
    const options: ConnectOptions = { servers: ['127.0.0.1:1'], logger: console };
    expect(options.logger).toBe(console);
  });

  it('finds the one server that lives', async () => {
    const { ensemble, connect } = await scenario({ servers: 5 });
    for (const id of [1, 2, 4, 5]) ensemble.server(id).host.crash();
    expect((await connect()).status().server?.id).toBe(3);
  });

  it('waits for an ensemble that is still starting', async () => {
    const { world, ensemble, connecting } = await scenario();
    for (const server of ensemble.servers) server.host.down = true;
    const client = connecting();
    await world.sleep(3_000);
    for (const server of ensemble.servers) server.host.down = false;
    expect((await world.settled(client)).state).toBe('connected');
  });

  it('gives up at once when every server refuses this client', async () => {
    const { world, ensemble, connecting } = await scenario();
    for (const server of ensemble.servers) {
      server.goodbye = { type: 'goodbye', code: 'WRONG_CLUSTER', message: 'this is cluster "b"' };
    }
    const before = world.nowMs;
    const error = await world.rejection(connecting({ clusterId: 'a' }));
    expect(error).toMatchObject({ code: 'WRONG_CLUSTER', retryable: false });
    expect((error as Error).message).toMatch(/cluster "b"/);
    expect(world.nowMs - before).toBeLessThan(2_000);
  });

  it('goes past a server that has no leader', async () => {
    const { ensemble, connect } = await scenario();
    ensemble.leader = 2;
    ensemble.server(1).goodbye = { type: 'goodbye', code: 'NO_LEADER', message: 'no majority here' };
    ensemble.server(3).goodbye = ensemble.server(1).goodbye;
    expect((await connect()).status().server?.id).toBe(2);
  });

  it('rejects with the reason of its signal, and leaves nothing running', async () => {
    const { world, ensemble, connecting, host } = await scenario();
    for (const server of ensemble.servers) server.host.paused = true;
    const aborter = new AbortController();
    const client = connecting({ signal: aborter.signal });
    await world.sleep(100);
    const reason = new Error('the application stops');
    aborter.abort(reason);
    expect(await world.rejection(client)).toBe(reason);
    await world.sleep(5_000);
    expect(host.timers).toBe(0);
  });

  it('makes one session although the first answer was lost', async () => {
    const { ensemble, connect } = await scenario();
    let lost = 0;
    for (const server of ensemble.servers) {
      server.hook = (message) => {
        if (message.type !== 'attach' || lost > 0) return 'handle';
        lost += 1;
        return 'apply';
      };
    }
    const client = await connect();
    expect(lost).toBe(1);
    expect([...ensemble.sessions.keys()]).toEqual([client.sessionId]);
    expect(ensemble.session(client.sessionId).generation).toBe(2);
  });
});

describe('an error', () => {
  it('is an instance across two copies of the package', () => {
    class Foreign extends Error {}
    const foreign = new Foreign('from another copy');
    Object.defineProperty(foreign, Symbol.for('@holdfast/client:HoldfastError'), { value: true });
    Object.defineProperty(foreign, Symbol.for('@holdfast/client:ConnectionError'), { value: true });
    expect(foreign instanceof ConnectionError).toBe(true);
    expect(foreign instanceof InvalidArgumentError).toBe(false);
    expect(new InvalidArgumentError('x') instanceof HoldfastError).toBe(true);
    expect(new Error('x') instanceof HoldfastError).toBe(false);
  });

  it('keeps the ordinary check for subclasses of applications', () => {
    class Mine extends ConnectionError {}
    expect(new Mine('x') instanceof Mine).toBe(true);
    expect(new Mine('x') instanceof ConnectionError).toBe(true);
    expect(new ConnectionError('x') instanceof Mine).toBe(false);
  });
});
