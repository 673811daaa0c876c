/** Calls over frames, for hosts of a simulated world that have no HTTP: one connection, numbered calls, answers in any order. */

import type { Connection, Runtime } from '@holdfast/runtime';
import { UnansweredError, UnreachableError } from '../../workloads/store.ts';

const MAX_FRAME_BYTES = 64 * 1024;
const CALL_TIMEOUT_MS = 3_000;

interface Frame {
  readonly call: number;
  readonly body: unknown;
}

const encode = (frame: Frame): Uint8Array => Buffer.from(JSON.stringify(frame));
const decode = ({ buffer, byteOffset, byteLength }: Uint8Array): Frame =>
  JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString()) as Frame;

/** `answer` never rejects. */
export async function serveCalls(
  runtime: Runtime,
  address: string,
  answer: (body: unknown) => Promise<unknown>,
): Promise<void> {
  await runtime.network.listen({
    address,
    maxFrameBytes: MAX_FRAME_BYTES,
    onConnection(connection) {
      connection.setHandler({
        frame(bytes) {
          const { call, body } = decode(bytes);
          void answer(body).then((result) => connection.send(encode({ call, body: result })));
        },
        close() {},
      });
    },
  });
}

interface Pending {
  readonly connection: Connection;
  resolve(body: unknown): void;
  reject(error: Error): void;
}

export class Caller {
  readonly #runtime: Runtime;
  readonly #address: string;
  readonly #pending = new Map<number, Pending>();
  #connection: Connection | undefined;
  #dialling: Promise<Connection> | undefined;
  #calls = 0;

  constructor(runtime: Runtime, address: string) {
    this.#runtime = runtime;
    this.#address = address;
  }

  /** Rejects with {@link UnreachableError} or {@link UnansweredError}. */
  async call(body: unknown): Promise<unknown> {
    const connection = await this.#connect();
    if (!connection.open) throw new UnreachableError('the connection has closed');
    this.#calls += 1;
    const call = this.#calls;
    return await new Promise((resolve, reject) => {
      const timer = this.#runtime.clock.setTimer(CALL_TIMEOUT_MS, () => {
        this.#pending.delete(call);
        reject(new UnansweredError(`no answer within ${CALL_TIMEOUT_MS} ms`));
        // What hangs may hang for good: the next call dials anew.
        connection.destroy();
      });
      this.#pending.set(call, {
        connection,
        resolve: (result) => {
          timer.cancel();
          resolve(result);
        },
        reject: (error) => {
          timer.cancel();
          reject(error);
        },
      });
      connection.send(encode({ call, body }));
    });
  }

  async #connect(): Promise<Connection> {
    if (this.#connection?.open === true) return this.#connection;
    this.#dialling ??= this.#dial().finally(() => {
      this.#dialling = undefined;
    });
    return await this.#dialling;
  }

  async #dial(): Promise<Connection> {
    const options = { address: this.#address, timeoutMs: CALL_TIMEOUT_MS, maxFrameBytes: MAX_FRAME_BYTES };
    let connection: Connection;
    try {
      connection = await this.#runtime.network.dial(options);
    } catch (error) {
      throw new UnreachableError((error as Error).message);
    }
    connection.setHandler({
      frame: (bytes) => {
        const { call, body } = decode(bytes);
        this.#settle(call, (pending) => pending.resolve(body));
      },
      close: (reason) => {
        for (const [call, { connection: its }] of this.#pending) {
          if (its !== connection) continue;
          this.#settle(call, (pending) => pending.reject(new UnansweredError(`the connection closed: ${reason}`)));
        }
      },
    });
    this.#connection = connection;
    return connection;
  }

  #settle(call: number, how: (pending: Pending) => void): void {
    const pending = this.#pending.get(call);
    this.#pending.delete(call);
    if (pending !== undefined) how(pending);
  }
}
