/** One run of a command: connects when the command asks for it, as what it needs, and closes after it. */

import { AnswerSources } from './answer-sources.ts';
import type { ConnectRequest, EnsembleClient, OperatorClient } from './ensemble-client.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK } from './exit-code.ts';
import { readFailure, type ObjectKind } from './failure.ts';

export interface GlobalOptions {
  readonly servers: readonly string[];
  readonly json: boolean;
  readonly timeout: number;
}

export type SessionOptions = Partial<Pick<ConnectRequest, 'connectTimeoutMs' | 'sessionTimeoutMs'>>;

export class CommandRun {
  exitCode: number = EXIT_OK;
  /** What the command is about. */
  object: ObjectKind | undefined;
  /** How many arguments stand behind the first "--"; undefined where there is none. */
  behindDashes: number | undefined;
  readonly #outside: Environment;

  constructor(outside: Environment) {
    this.#outside = outside;
  }

  /** With a session of the ensemble. */
  async withSession(
    { servers, timeout }: GlobalOptions,
    body: (client: EnsembleClient) => Promise<void>,
    options: SessionOptions = {},
  ): Promise<void> {
    const { label } = this.#outside;
    const request = { servers, connectTimeoutMs: timeout, timeoutMs: timeout, label, ...options };
    await closing(await this.#outside.connect(request), body);
  }

  /** With so many of them. */
  async withSessions(
    globals: GlobalOptions,
    count: number,
    body: (clients: readonly EnsembleClient[]) => Promise<void>,
  ): Promise<void> {
    const gather = async (clients: readonly EnsembleClient[]): Promise<void> => {
      if (clients.length === count) await body(clients);
      else await this.withSession(globals, (client) => gather([...clients, client]));
    };
    await gather([]);
  }

  /** Without one, which could not be made while the disks are almost full. */
  async asOperator(
    { servers, timeout }: GlobalOptions,
    body: (client: OperatorClient) => Promise<void>,
    stale = false,
  ): Promise<void> {
    const { label } = this.#outside;
    await closing(await this.#outside.connectOperator({ servers, timeoutMs: timeout, label, stale }), body);
  }

  /** Only reads. With `stale` any server may answer, and standard error says which did. */
  async reading(
    globals: GlobalOptions,
    stale: boolean,
    body: (client: OperatorClient, sources: AnswerSources) => Promise<void>,
  ): Promise<void> {
    const sources = new AnswerSources(stale);
    try {
      await this.asOperator(globals, (client) => body(client, sources), stale);
    } catch (error) {
      throw stale ? error : readFailure(error);
    } finally {
      if (sources.note !== undefined) this.#outside.writeError(`lockctl: ${sources.note}\n`);
    }
  }
}

async function closing<Client extends { close(): Promise<void> }>(
  client: Client,
  body: (client: Client) => Promise<void>,
): Promise<void> {
  try {
    await body(client);
  } finally {
    await client.close();
  }
}
