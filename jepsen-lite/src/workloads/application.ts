/**
 * An application of a simulated world: a service with the real SDK on a host of its own. Its workers take locks, change what the locks
 * protect at the fenced store and at one without a fence, and keep nodes; all of it is recorded. When its session ends it connects anew,
 * as a restarted service would; when its host crashes, the next incarnation begins afresh and the open calls stay open.
 */

import {
  connect,
  HoldfastError,
  LockLostError,
  SessionExpiredError,
  ClientClosedError,
  TimeoutError,
  type Client,
  type HeldLock,
} from '@holdfast/client';
import type { Random, Runtime } from '@holdfast/runtime';
import type { SimHost } from '@holdfast/runtime/sim';
import type { FailedEvent, HistoryEventBody, Operation, Outcome } from '../history/history.ts';
import { UNFENCED_BUCKET } from '../history/history.ts';
import { UnreachableError, UnansweredError } from '../targets/sim/rpc.ts';
import { BURST_EVERY_MS, lockName, type ClientPlan } from '../scenario/plan.ts';
import { StoreClient } from '../targets/sim/store-host.ts';

export interface ApplicationWorld {
  /** Where servers may be found now. */
  servers(): readonly string[];
  readonly locks: number;
  nextCall(): number;
  record(process: string, event: HistoryEventBody): void;
  nowMs(): number;
  random(name: string): Random;
  /** It has drawn random bytes, of which its SDK makes secrets. */
  drawn(who: string, bytes: Uint8Array): void;
  /** Nothing new is begun when this is false. */
  running(): boolean;
  /** Somebody would ask the leader to hand over; not when this says no. */
  mayHandOver(): boolean;
  believed(who: string, lock: string, token: number, hold: number): void;
  unexpected(who: string, error: unknown): void;
}

const REGISTERS = 3;
/** Kinds of use of a register; the first ones change it. */
const REGISTER_USES = 5;
const REGISTER_WRITES = 4;
/** Changes and reads of registers that a worker sends without waiting for the answer before. */
const MAX_AT_ONCE = 3;
/** Unanswered reads of a client that reads steadily. */
const MAX_STEADY_READS = 50;
const READ_STEADILY = '/register-0';
/** Of the counter in the bucket of each lock. */
const KEY = 'n';
/** Requests of a burst. */
const MIN_BURST = 16;
const MAX_BURST = 48;
/** Those of clients that read steadily have so many times as many: something is to hang meanwhile. */
const STEADY_BURST_TIMES = 2;
/** One burst in so many. */
const HANDS_OVER_ONE_IN = 6;
const HAND_OVER_TIMEOUT_MS = 5_000;
const MAX_PAUSE_MS = 1_150;
/** Short tasks within a critical section, between which belief is asked for. */
const MAX_STEPS = 3;
const MAX_STEP_MS = 120;
const MAX_CARELESS_MS = 2_500;
/** Long enough for the worst fail-over; shorter would end calls that a healed ensemble answers. */
const CONNECT_TIMEOUT_MS = 300_000;

type Ok = { readonly [K in Outcome['f']]: Omit<Extract<Outcome, { f: K }>, keyof Extract<Operation, { f: K }>> };

export class Application {
  readonly plan: ClientPlan;
  readonly #host: SimHost;
  readonly #world: ApplicationWorld;
  readonly #random: Random;
  #boots = 0;
  #client: Client | undefined;
  readonly #open = new Map<number, Operation>();
  /** Critical sections that were completed. */
  rounds = 0;
  idle = true;

  constructor(plan: ClientPlan, host: SimHost, world: ApplicationWorld) {
    this.plan = plan;
    this.#host = host;
    this.#world = world;
    this.#random = world.random(`application/${plan.name}`);
  }

  /** Starts the process. */
  boot(): void {
    if (this.#host.state === 'down') this.#host.restart();
    this.#boots += 1;
    const boot = this.#boots;
    this.idle = false;
    this.#live(this.#observed(this.#host.runtime))
      .catch((error: unknown) => this.#world.unexpected(this.plan.name, error))
      .finally(() => {
        if (boot === this.#boots) this.idle = true;
      });
  }

  /** What the host's end leaves: nobody speaks for it any more. */
  died(): void {
    this.#boots += 1;
    this.#client = undefined;
    this.idle = true;
    for (const [call, operation] of this.#open) this.#record({ type: 'info', call, code: 'CRASHED', ...operation });
    this.#open.clear();
  }

  /** Its session and what the SDK still does in the background. */
  describe(): string {
    const status = this.#client?.status();
    return `${this.plan.name}: ${status === undefined ? 'no client' : JSON.stringify({ ...status, members: undefined })}`;
  }

  #observed(runtime: Runtime): Runtime {
    const { clock, network, disk, logger, random } = runtime;
    const bytes = (length: number): Uint8Array => {
      const drawn = random.bytes(length);
      this.#world.drawn(this.plan.name, drawn);
      return drawn;
    };
    const observed = { next: () => random.next(), integer: (bound: number) => random.integer(bound), bytes };
    return { clock, network, disk, logger, random: observed };
  }

  async #live(runtime: Runtime): Promise<void> {
    while (this.#world.running()) {
      const client = await connect(
        {
          servers: this.#world.servers(),
          sessionTimeoutMs: this.plan.sessionTimeoutMs,
          label: this.plan.name,
          connectTimeoutMs: CONNECT_TIMEOUT_MS,
        },
        runtime,
      );
      this.#client = client;
      const session = client.sessionId;
      this.#record({ type: 'session', event: 'connected', session, timeoutMs: this.plan.sessionTimeoutMs });
      const store = new StoreClient(runtime);
      const workers = Array.from({ length: this.plan.workers }, () => this.#work(runtime, client, store));
      await Promise.all([...workers, this.#readSteadily(runtime, client)]);
      await client.close();
      this.#record({ type: 'session', event: client.state === 'expired' ? 'expired' : 'closed', session });
    }
  }

  async #work(runtime: Runtime, client: Client, store: StoreClient): Promise<void> {
    while (this.#world.running() && client.state !== 'expired') {
      const toBurstMs = BURST_EVERY_MS - (this.#world.nowMs() % BURST_EVERY_MS);
      if (this.plan.bursts === true && toBurstMs <= MAX_PAUSE_MS) {
        await sleep(runtime, toBurstMs);
        await this.#burst(runtime, client, store);
        continue;
      }
      await sleep(runtime, this.#random.integer(MAX_PAUSE_MS));
      if (this.#random.integer(3) === 0) await this.#useRegisters(client);
      else await this.#criticalSection(runtime, client, store);
    }
  }

  /** However long an answer takes, the next read goes out in time. */
  async #readSteadily(runtime: Runtime, client: Client): Promise<void> {
    const { readEveryMs } = this.plan;
    let unanswered = 0;
    while (readEveryMs !== undefined && this.#world.running() && client.state !== 'expired') {
      await sleep(runtime, readEveryMs);
      if (unanswered >= MAX_STEADY_READS) continue;
      unanswered += 1;
      client.nodes
        .exists(READ_STEADILY)
        .catch((error: unknown) => {
          if (failureOf(error) === undefined) this.#world.unexpected(this.plan.name, error);
        })
        .finally(() => (unanswered -= 1));
    }
  }

  /**
   * As a program that waits for nothing but answers: leaders come to expect it. Now and then somebody has the leader hand over meanwhile.
   * The lock that it asks for last others ask for as well, so that some stay away.
   */
  async #burst(runtime: Runtime, client: Client, store: StoreClient): Promise<void> {
    const times = this.plan.readEveryMs === undefined ? 1 : STEADY_BURST_TIMES;
    const length = times * (MIN_BURST + this.#random.integer(MAX_BURST - MIN_BURST));
    const handsOverAt = this.#random.integer(HANDS_OVER_ONE_IN * length);
    for (let n = 0; n < length && this.#world.running(); n += 1) {
      if (n === handsOverAt) this.#handOver(client);
      await this.#useRegister(client, REGISTER_WRITES);
    }
    await this.#criticalSection(runtime, client, store);
  }

  #handOver(client: Client): void {
    if (!this.#world.mayHandOver()) return;
    client.admin.transferLeadership(0, { timeoutMs: HAND_OVER_TIMEOUT_MS }).catch((error: unknown) => {
      if (!(error instanceof HoldfastError)) this.#world.unexpected(this.plan.name, error);
    });
  }

  async #criticalSection(runtime: Runtime, client: Client, store: StoreClient): Promise<void> {
    const lock = lockName(this.#random.integer(this.#world.locks));
    const held = await this.#acquire(runtime, client, lock);
    if (held === undefined) return;
    const { token, acquireIndex: hold } = held;
    const believes = (): void => {
      held.assertHeld();
      this.#record({ type: 'believe', lock, session: client.sessionId, token, hold });
      this.#world.believed(this.plan.name, lock, token, hold);
    };
    let written: number | undefined;
    try {
      believes();
      const busy = this.plan.longSteps !== undefined;
      if (busy || this.#random.integer(3) === 0) {
        written = await this.#readModifyWrite(runtime, store, lock, token, believes);
      }
      const long = busy && this.#random.integer(3) === 0;
      for (let step = this.#random.integer(long ? this.plan.longSteps : MAX_STEPS); step > 0; step -= 1) {
        await sleep(runtime, this.#random.integer(MAX_STEP_MS));
        believes();
      }
      // What was installed before is installed still.
      if (long && written !== undefined) await this.#store(store, { f: 'get', bucket: lock, key: KEY, token });
    } catch (error) {
      if (!(error instanceof LockLostError)) throw error;
      const { reason } = error;
      if (reason !== 'released') this.#record({ type: 'lost', lock, session: client.sessionId, token, hold, reason });
      // Some go on all the same: only the token stands between them and a stale write.
      if (written !== undefined && this.#random.integer(2) === 0) await this.#write(store, lock, token, written + 1);
    }
    await this.#call({ f: 'release', lock, session: client.sessionId, token, hold }, async () => {
      await held.release();
      return {};
    });
    this.rounds += 1;
  }

  async #acquire(runtime: Runtime, client: Client, name: string): Promise<HeldLock | undefined> {
    const lock = client.lock(name);
    const operation = { f: 'acquire', lock: name, session: client.sessionId } as const;
    let held: HeldLock | undefined;
    const take = async (how: () => Promise<HeldLock>): Promise<Ok['acquire']> => {
      held = await how();
      return { token: held.token, hold: held.acquireIndex };
    };
    switch (this.#random.integer(5)) {
      case 0:
        await this.#call({ ...operation, waitMs: 0 }, () => take(() => lock.acquire({ waitMs: 0 })));
        break;
      case 1: {
        const waitMs = 1 + this.#random.integer(1_000);
        await this.#call({ ...operation, waitMs }, () => take(() => lock.acquire({ waitMs })));
        break;
      }
      case 2: {
        const aborter = new AbortController();
        const timer = runtime.clock.setTimer(this.#random.integer(1_500), () =>
          aborter.abort(new AbortedByApplication()),
        );
        await this.#call(operation, () => take(() => lock.acquire({ signal: aborter.signal })));
        timer.cancel();
        break;
      }
      default:
        await this.#call(operation, () => take(() => lock.acquire()));
    }
    return held;
  }

  /** install → read → write, as the holder of a lock must; the store without a fence gets the same writes and believes anybody. */
  async #readModifyWrite(
    runtime: Runtime,
    store: StoreClient,
    lock: string,
    token: number,
    believes: () => void,
  ): Promise<number | undefined> {
    const bucket = lock;
    const installed = await this.#store(store, { f: 'fence', bucket, token });
    if (!installed) return undefined;
    let before: string | null = null;
    const read = await this.#store(store, { f: 'get', bucket, key: KEY, token }, (value) => (before = value));
    if (!read) return undefined;
    // Some take their time and trust the lock: only the token stands between them and a stale write.
    const careless = this.#random.integer(5) === 0;
    await sleep(runtime, this.#random.integer(careless ? MAX_CARELESS_MS : MAX_STEP_MS));
    if (!careless) believes();
    const count = before === null ? 0 : Number((before as string).split(':')[1]);
    return (await this.#write(store, lock, token, count + 1)) ? count + 1 : undefined;
  }

  /** True when the fenced store has accepted it. */
  async #write(store: StoreClient, lock: string, token: number, count: number): Promise<boolean> {
    const value = `${token}:${count}`;
    const accepted = await this.#store(store, { f: 'put', bucket: lock, key: KEY, value, token });
    await this.#store(store, { f: 'put', bucket: UNFENCED_BUCKET, key: lock, value, token });
    return accepted;
  }

  async #store(
    store: StoreClient,
    operation: Extract<Operation, { f: 'fence' | 'put' | 'get' }>,
    found?: (value: string | null) => void,
  ): Promise<boolean> {
    const { f, ...rest } = operation;
    // The history names the writer's token all the same; the store is not to look at it.
    const sent = operation.bucket === UNFENCED_BUCKET ? { ...rest, token: undefined } : rest;
    return await this.#call(operation, async () => {
      const answer = await store.call({ op: f, ...sent } as Parameters<StoreClient['call']>[0]);
      if (!answer.ok) throw new StoreRefusal(answer.code, answer.indeterminate, answer.highest);
      const value = answer.value ?? null;
      found?.(value);
      return f === 'get' ? { value } : {};
    });
  }

  async #useRegisters(client: Client): Promise<void> {
    const count = 1 + this.#random.integer(MAX_AT_ONCE);
    await Promise.all(Array.from({ length: count }, () => this.#useRegister(client, REGISTER_USES)));
  }

  async #useRegister(client: Client, uses: number): Promise<void> {
    const path = `/register-${this.#random.integer(REGISTERS)}`;
    const { nodes } = client;
    const session = client.sessionId;
    const value = `${this.plan.name}-${this.#world.nextCall()}`;
    const data = new TextEncoder().encode(value);
    switch (this.#random.integer(uses)) {
      case 0:
        await this.#call({ f: 'create', path, value, session }, async () => {
          await nodes.create(path, data);
          return {};
        });
        return;
      case 1:
        await this.#call({ f: 'delete', path, session }, async () => {
          await nodes.delete(path);
          return {};
        });
        return;
      case 2:
      case 3:
        await this.#call({ f: 'set', path, value, session }, async () => {
          const { version } = await nodes.set(path, data);
          return { newVersion: version };
        });
        return;
      default:
        await this.#call({ f: 'read', path, consistency: 'linearizable', session }, async () => {
          try {
            const { data: found, stat } = await nodes.get(path);
            return { value: new TextDecoder().decode(found), version: stat.version };
          } catch (error) {
            if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error;
            return { value: null };
          }
        });
    }
  }

  /** Records the call and what came of it. True when it had its effect; an error that the SDK does not promise is the run's failure. */
  async #call<O extends Operation>(operation: O, run: () => Promise<Ok[O['f']]>): Promise<boolean> {
    const call = this.#world.nextCall();
    this.#record({ type: 'invoke', call, ...operation });
    this.#open.set(call, operation);
    try {
      const result = await run();
      this.#open.delete(call);
      this.#record({ type: 'ok', call, ...operation, ...result } as HistoryEventBody);
      return true;
    } catch (error) {
      const failure = failureOf(error);
      this.#open.delete(call);
      if (failure === undefined) throw error;
      this.#record({ ...failure, call, ...operation });
      return false;
    }
  }

  #record(event: HistoryEventBody): void {
    this.#world.record(this.plan.name, event);
  }
}

class AbortedByApplication extends Error {}

class StoreRefusal extends Error {
  readonly code: string;
  readonly indeterminate: boolean;
  readonly highest: number | undefined;

  constructor(code: string, indeterminate: boolean, highest: number | undefined) {
    super(code);
    this.code = code;
    this.indeterminate = indeterminate;
    this.highest = highest;
  }
}

/** Undefined for what no application needs to expect. */
function failureOf(error: unknown): Pick<FailedEvent, 'type' | 'code' | 'highest'> | undefined {
  if (error instanceof AbortedByApplication) return { type: 'fail', code: 'ABORTED' };
  if (error instanceof UnreachableError) return { type: 'fail', code: 'UNREACHABLE' };
  if (error instanceof UnansweredError) return { type: 'info', code: 'UNANSWERED' };
  if (error instanceof StoreRefusal) {
    const highest = error.highest === undefined ? {} : { highest: error.highest };
    return { type: error.indeterminate ? 'info' : 'fail', code: error.code, ...highest };
  }
  if (!(error instanceof HoldfastError) || !isExpected(error)) return undefined;
  return { type: error.indeterminate ? 'info' : 'fail', code: error.code };
}

function isExpected(error: HoldfastError): boolean {
  if (error instanceof LockLostError || error instanceof SessionExpiredError) return true;
  if (error instanceof ClientClosedError || error instanceof TimeoutError) return true;
  return error.retryable || EXPECTED_CODES.has(error.code);
}

/** What registers that others create and delete answer. */
const EXPECTED_CODES: ReadonlySet<string> = new Set(['NOT_FOUND', 'NODE_EXISTS', 'NOT_EMPTY']);

function sleep(runtime: Runtime, ms: number): Promise<void> {
  return new Promise((resolve) => runtime.clock.setTimer(ms, resolve));
}
