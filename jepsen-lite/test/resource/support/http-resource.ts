/** Resources behind HTTP, right and wrong ones, each at a path of its own. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface State {
  value: string | null;
  highest: number;
}

/** Whether the write is taken; a rule that waits between looking and writing is two steps. */
type Rule = (state: State, token: number) => Promise<boolean> | boolean;

const RULES: Readonly<Record<string, Rule>> = {
  correct: ({ highest }, token) => token >= highest,
  unfenced: () => true,
  'two-steps': async ({ highest }, token) => {
    const current = token >= highest;
    await new Promise((resolve) => setTimeout(resolve, 1));
    return current;
  },
  'once-each': ({ highest }, token) => token > highest,
  'refuses-all': () => false,
};

export class HttpResource {
  readonly #server: Server;
  readonly #states = new Map<string, State>();

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<HttpResource> {
    const resource = new HttpResource();
    resource.#server.listen(0, '127.0.0.1');
    await once(resource.#server, 'listening');
    return resource;
  }

  url(rule: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${rule}`;
  }

  stop(): void {
    this.#server.close().closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = ''] = (request.url ?? '').split('/');
    const rule = RULES[name];
    const state = this.#states.get(name) ?? { value: null, highest: 0 };
    this.#states.set(name, state);
    if (rule === undefined || (request.method === 'GET' && state.value === null)) {
      response.writeHead(404).end();
      return;
    }
    if (request.method === 'GET') {
      response.end(state.value);
      return;
    }
    let value = '';
    for await (const piece of request.setEncoding('utf8')) value += String(piece);
    const token = Number(request.headers['fencing-token']);
    if (Number.isInteger(token) && token > 0 && (await rule(state, token))) {
      state.value = value;
      state.highest = Math.max(state.highest, token);
      response.end();
    } else {
      response.writeHead(412).end();
    }
  }
}
