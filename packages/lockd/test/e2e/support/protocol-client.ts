/** A client at the level of protocol messages, over a real socket, which keeps to no limit unless the test does. */

import {
  CommandType,
  MAX_FRAME_BYTES,
  PROTOCOL_VERSION,
  decodeServerFrame,
  encodeClientFrame,
  encodeAttachRequest,
  encodeCommand,
  type ClientMessage,
  type Command,
  type ServerMessage,
} from '@holdfast/protocol';
import { silentLogger, type Connection } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { CLUSTER_ID } from './places.ts';

export class ProtocolClient {
  readonly heard: ServerMessage[] = [];
  closed = false;
  /** Called for every message; for floods, which answer each answer. */
  onMessage: (message: ServerMessage) => void = () => {};
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
    connection.setHandler({
      frame: (bytes) => {
        for (const message of decodeServerFrame(bytes)) {
          this.heard.push(message);
          this.onMessage(message);
        }
      },
      close: () => {
        this.closed = true;
      },
    });
  }

  /** Says hello, and with `session` attaches a new one. */
  static async open(
    port: number,
    { session, timeoutMs = 60_000 }: { readonly session: boolean; readonly timeoutMs?: number },
  ): Promise<ProtocolClient> {
    const { network, random } = nodeRuntime({ logger: silentLogger });
    const address = `127.0.0.1:${port}`;
    const client = new ProtocolClient(
      await network.dial({ address, timeoutMs: 10_000, maxFrameBytes: MAX_FRAME_BYTES }),
    );
    const messages = [hello()];
    if (session) messages.push(attach(random.bytes(16), timeoutMs));
    const last = session ? 'attached' : 'welcome';
    const answered = new Promise<void>((resolve) => {
      client.onMessage = ({ type }) => {
        if (type === last) resolve();
      };
    });
    client.send(messages);
    await answered;
    client.onMessage = () => {};
    return client;
  }

  send(messages: readonly ClientMessage[]): void {
    this.#connection.send(encodeClientFrame(messages));
  }

  destroy(): void {
    this.#connection.destroy();
  }
}

export function hello(): ClientMessage {
  return { type: 'hello', version: PROTOCOL_VERSION, features: 0, clusterId: CLUSTER_ID, required: 0 };
}

export function request(number: number, command: Exclude<Command, { type: 'attach' }>, ackedUpTo = 0): ClientMessage {
  return { type: 'request', number, ackedUpTo, command: CommandType[command.type], payload: encodeCommand(command) };
}

function attach(secret: Uint8Array, timeoutMs: number): ClientMessage {
  const wish = { secret, session: 0, timeoutMs, label: 'greedy' };
  return { type: 'attach', id: 1, payload: encodeAttachRequest(wish) };
}
