/** The fenced store of a simulated world: the real one over its journal engine, on a host that crashes and starts again. */

import { EngineError, FencedStore, openJournalEngine, RefusedError } from '@holdfast/fenced-kv';
import type { Runtime } from '@holdfast/runtime';
import type { SimHost } from '@holdfast/runtime/sim';
import { UNFENCED_BUCKET, type StoreEvent } from '../../history/history.ts';
import type { Store, StoreAnswer, StoreCall } from '../../workloads/store.ts';
import { Caller, serveCalls } from './rpc.ts';
import { STORE_HOST } from '../../plan/plan.ts';

const PORT = 7400;
const DIRECTORY = '/data';

export class StoreHost {
  readonly #host: SimHost;
  readonly #accepted: (event: StoreEvent) => void;
  readonly #failed: (error: unknown) => void;

  constructor(host: SimHost, accepted: (event: StoreEvent) => void, failed: (error: unknown) => void) {
    this.#host = host;
    this.#accepted = accepted;
    this.#failed = failed;
  }

  /** Starts the process; what goes wrong is told to `failed`. */
  boot(): void {
    if (this.#host.state === 'down') this.#host.restart();
    this.#serve(this.#host.runtime).catch(this.#failed);
  }

  async #serve(runtime: Runtime): Promise<void> {
    const engine = await openJournalEngine(DIRECTORY, { disk: runtime.disk, onFailure: this.#failed });
    const store = await FencedStore.open(engine);
    await store.create(UNFENCED_BUCKET, { tokens: 'optional' });
    await serveCalls(runtime, `${STORE_HOST}:${PORT}`, async (body) => await this.#answer(store, body as StoreCall));
  }

  async #answer(store: FencedStore, call: StoreCall): Promise<StoreAnswer> {
    try {
      switch (call.op) {
        case 'fence':
          await store.install(call.bucket, call.token);
          this.#accepted({ type: 'accepted', f: 'fence', bucket: call.bucket, token: call.token });
          return { ok: true };
        case 'get':
          return { ok: true, value: read(store, call) };
        case 'put': {
          const { bucket, key, value, token } = call;
          await store.write(bucket, [{ key, value: new TextEncoder().encode(value) }], { token });
          if (token !== undefined) this.#accepted({ type: 'accepted', f: 'put', bucket, token });
          return { ok: true };
        }
      }
    } catch (error) {
      if (error instanceof RefusedError) {
        const { refusal } = error;
        const highest = refusal.code === 'STALE_TOKEN' ? { highest: refusal.highest } : {};
        return { ok: false, code: refusal.code, ...highest, indeterminate: false };
      }
      if (!(error instanceof EngineError)) this.#failed(error);
      const { code = 'INTERNAL', indeterminate = true } = error instanceof EngineError ? error : {};
      return { ok: false, code, indeterminate };
    }
  }
}

function read(store: FencedStore, { bucket, key, token }: Extract<StoreCall, { op: 'get' }>): string | null {
  try {
    return new TextDecoder().decode(store.get(bucket, key, { token }).value);
  } catch (error) {
    if (error instanceof RefusedError && error.refusal.code === 'KEY_NOT_FOUND') return null;
    throw error;
  }
}

/** A client's end. */
export class StoreClient implements Store {
  readonly #caller: Caller;

  constructor(runtime: Runtime) {
    this.#caller = new Caller(runtime, `${STORE_HOST}:${PORT}`);
  }

  async call(call: StoreCall): Promise<StoreAnswer> {
    return (await this.#caller.call(call)) as StoreAnswer;
  }
}
