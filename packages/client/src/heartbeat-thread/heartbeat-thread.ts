/**
 * The heartbeat thread: has the sockets of a client, hands frames through, and renews sessions while the application's thread stands still, in a
 * long computation say. The guard: when it stands still for longer than it may, nothing is renewed any more, and the locks of a process that
 * hangs come free.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { decodeServerFrame, encodeClientFrame, type ServerMessage } from '@holdfast/protocol';
import { isDialError, silentLogger, type Connection } from '@holdfast/runtime';
import { nodeNetwork } from '@holdfast/runtime/node';
import { nowUs, type FromThread, type ThreadOptions, type ToThread } from './messages.ts';

/** Far beyond those of the application's thread, which counts from 1: each ignores the answers to the other's. */
const FIRST_HEARTBEAT = 2 ** 40;
const LOOKS_PER_INTERVAL = 8;
const MIN_LOOK_MS = 10;
/** Of a renewal interval: the application's thread that has not run for so long stands still. */
const STALL_PART = 0.5;

/** Renews the session that is attached over one connection. */
class Renewer {
  readonly #connection: Connection;
  readonly #intervalMs: number;
  readonly #renewed: BigInt64Array;
  readonly #timer: NodeJS.Timeout;
  /** Heartbeats that are not acknowledged: when they were sent, on both clocks. */
  readonly #sent = new Map<number, { readonly us: bigint; readonly wallMs: number }>();
  #lastSentUs = 0n;
  #lastId = FIRST_HEARTBEAT;

  constructor(connection: Connection, intervalMs: number, renewed: SharedArrayBuffer) {
    this.#connection = connection;
    this.#intervalMs = intervalMs;
    this.#renewed = new BigInt64Array(renewed);
    this.#timer = setInterval(() => this.#look(), Math.max(MIN_LOOK_MS, intervalMs / LOOKS_PER_INTERVAL));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The lease counts from when the heartbeat was sent. */
  heard(frame: Uint8Array): void {
    if (this.#sent.size === 0) return;
    for (const message of messagesOf(frame)) {
      const sent = message.type === 'renewed' ? this.#sent.get(message.id) : undefined;
      if (sent === undefined || message.type !== 'renewed') continue;
      // The wall clock last: who reads in between takes the lease for shorter than it is.
      Atomics.store(this.#renewed, 0, sent.us);
      Atomics.store(this.#renewed, 1, BigInt(sent.wallMs));
      for (const id of this.#sent.keys()) if (id <= message.id) this.#sent.delete(id);
    }
  }

  #look(): void {
    const us = nowUs();
    const stalledMs = Number(us - Atomics.load(alive, 0)) / 1_000;
    if (stalledMs < this.#intervalMs * STALL_PART || stalledMs > maxStallMs) return;
    if (Number(us - this.#lastSentUs) / 1_000 < this.#intervalMs) return;
    this.#lastSentUs = us;
    this.#lastId += 1;
    this.#sent.set(this.#lastId, { us, wallMs: Date.now() });
    this.#connection.send(encodeClientFrame([{ type: 'heartbeat', id: this.#lastId }]));
  }
}

/** None of a malformed frame, which the application's thread refuses. */
function messagesOf(frame: Uint8Array): readonly ServerMessage[] {
  try {
    return decodeServerFrame(frame);
  } catch {
    return [];
  }
}

const { alive: aliveBuffer, maxStallMs } = workerData as ThreadOptions;
const alive = new BigInt64Array(aliveBuffer);
const network = nodeNetwork({ logger: silentLogger });
const connections = new Map<number, Connection>();
const renewers = new Map<number, Renewer>();

function tell(message: FromThread, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, [...transfer]);
}

function hear(message: ToThread): void {
  const connection = connections.get(message.id);
  switch (message.type) {
    case 'dial':
      void dial(message);
      return;
    case 'send':
      connection?.send(message.frame);
      return;
    case 'close':
      connection?.close(message.reason);
      return;
    case 'destroy':
      connection?.destroy();
      return;
    case 'renew':
      renewers.get(message.id)?.stop();
      if (connection !== undefined) {
        renewers.set(message.id, new Renewer(connection, message.intervalMs, message.renewed));
      }
  }
}

async function dial({
  id,
  address,
  timeoutMs,
  acceptedTimeoutMs,
  maxFrameBytes,
}: ToThread & { readonly type: 'dial' }): Promise<void> {
  try {
    const accepted = acceptedTimeoutMs === undefined ? {} : { acceptedTimeoutMs };
    const connection = await network.dial({ address, timeoutMs, maxFrameBytes, ...accepted });
    connections.set(id, connection);
    tell({ type: 'dialled', id, remoteAddress: connection.remoteAddress });
    connection.setHandler({
      frame: (bytes) => {
        renewers.get(id)?.heard(bytes);
        const frame = bytes.slice();
        tell({ type: 'frame', id, frame }, [frame.buffer]);
      },
      close: (reason) => {
        connections.delete(id);
        renewers.get(id)?.stop();
        renewers.delete(id);
        tell({ type: 'closed', id, reason });
      },
    });
  } catch (error) {
    const known = isDialError(error) ? error : undefined;
    const text = error instanceof Error ? error.message : String(error);
    const { failure = 'failed', againInMs, accepted = false } = known ?? {};
    tell({ type: 'refused', id, failure, message: text, againInMs, accepted });
  }
}

parentPort?.on('message', hear);
