/** A tree of many nodes, a KiB each as a snapshot has them, and what writes to it so that the log grows. */

import { connect, type Client } from '@holdfast/client';

/** With them and what a record has beside, a node is 1 KiB; the data of all nodes together have a limit, the names have none. */
const NAME_LENGTH = 436;
const DATA_BYTES = 488;
const NODE_BYTES = 1_024;
const PARENT = '/bench-state';
const SESSIONS = 4;
/** Requests under way, of each session. */
const WINDOW = 128;

export class LargeState {
  readonly nodes: number;
  readonly #servers: readonly string[];

  constructor(servers: readonly string[], bytes: number) {
    this.#servers = servers;
    this.nodes = Math.ceil(bytes / NODE_BYTES);
  }

  async create(): Promise<void> {
    const data = new Uint8Array(DATA_BYTES).fill(0x61);
    await this.#withClients(async (clients) => {
      await clients[0]?.nodes.create(PARENT);
      await inWindows(clients, this.nodes, (client, n) => client.nodes.create(pathOf(n), data));
    });
  }

  /** Writes nodes anew until as many bytes were written, or `enough`. */
  async overwrite(bytes: number, enough: () => boolean = () => false): Promise<void> {
    const data = new Uint8Array(DATA_BYTES).fill(0x62);
    // A command of the log has path and data.
    const writes = Math.ceil(bytes / (NAME_LENGTH + DATA_BYTES));
    await this.#withClients((clients) =>
      inWindows(clients, writes, (client, n) => client.nodes.set(pathOf(n % this.nodes), data), enough),
    );
  }

  /** The first byte of the first node's data and of the last one's, as the server has them. */
  async ends(client: Client): Promise<string[]> {
    const bytes = async (n: number): Promise<string> => {
      const { data } = await client.nodes.get(pathOf(n), { consistency: 'local' });
      return new TextDecoder().decode(data.subarray(0, 1));
    };
    return [await bytes(0), await bytes(this.nodes - 1)];
  }

  async #withClients(run: (clients: readonly Client[]) => Promise<void>): Promise<void> {
    const servers = this.#servers;
    const clients = await Promise.all(Array.from({ length: SESSIONS }, () => connect({ servers })));
    try {
      await run(clients);
    } finally {
      await Promise.all(clients.map((client) => client.close()));
    }
  }
}

function pathOf(n: number): string {
  return `${PARENT}/${String(n).padStart(NAME_LENGTH, '0')}`;
}

async function inWindows(
  clients: readonly Client[],
  count: number,
  request: (client: Client, n: number) => Promise<unknown>,
  enough: () => boolean = () => false,
): Promise<void> {
  let next = 0;
  const lane = async (client: Client): Promise<void> => {
    while (next < count && !enough()) {
      const n = next;
      next += 1;
      await request(client, n);
    }
  };
  await Promise.all(clients.flatMap((client) => Array.from({ length: WINDOW }, () => lane(client))));
}
