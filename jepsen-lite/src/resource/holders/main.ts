/**
 * A holder: a process of its own with a session, a lock and connections to the resource, so that it can be stopped as a whole. It does
 * at once what it is told, several things at a time, and asks nobody whether it still holds the lock. It ends with its parent.
 */

import { connect, SessionExpiredError, type Client, type HeldLock } from '@holdfast/client';

import { openFence } from '../adapters/fence.ts';
import { messageOf, ResourceInputError, type Connection, type Outcome } from '../adapters/resource.ts';
import { now, type Abilities, type Call, type CallOptions, type CallResult, type Command } from './holder.ts';
import type { Instructions, Reply, Request, Route } from './holder.ts';

/** A timer is late by more than what a race is about; the rest is spun. */
const SPUN_MS = 2;
const ACQUIRE_WAIT_MS = 30_000;

const instructions = JSON.parse(process.argv[2] ?? '{}') as Instructions;

class HolderWork {
  readonly #connections = new Map<Route, Promise<Connection>>();
  #client: Client | undefined;
  #held: HeldLock | undefined;

  async do(command: Command): Promise<Abilities | CallResult | number | null> {
    switch (command.do) {
      case 'open':
        return await this.#open();
      case 'acquire':
        return await this.#acquire();
      case 'release':
        await this.#held?.release();
        return null;
      case 'call':
        return await this.#call(command.call, command.options);
      case 'finish':
        await this.#finish();
        return null;
    }
  }

  async #open(): Promise<Abilities> {
    const connection = await this.#connection('own');
    return { installs: connection.install !== undefined, writesUnfenced: connection.writeUnfenced !== undefined };
  }

  async #acquire(): Promise<number> {
    try {
      return await this.#acquireOn(this.#client ?? (await this.#connect()));
    } catch (error) {
      // It was paused for longer than its session lives.
      if (!(error instanceof SessionExpiredError)) throw error;
      return await this.#acquireOn(await this.#connect());
    }
  }

  async #connect(): Promise<Client> {
    const { servers, sessionTimeoutMs, name } = instructions;
    this.#client = await connect({ servers, sessionTimeoutMs, label: `jepsen resource ${name}` });
    return this.#client;
  }

  async #acquireOn(client: Client): Promise<number> {
    this.#held = await client.lock(instructions.lock).acquire({ waitMs: ACQUIRE_WAIT_MS });
    return this.#held.token;
  }

  async #call(call: Call, { route = 'own', at }: CallOptions): Promise<CallResult> {
    const connection = await this.#connection(route);
    if (at !== undefined) await until(at);
    const calledAt = now();
    let outcome: Outcome;
    let value: string | null | undefined;
    try {
      if (call.type === 'read') value = await connection.read();
      outcome = call.type === 'read' ? { type: 'taken' } : await change(connection, call);
    } catch (error) {
      outcome = { type: 'unknown', message: messageOf(error) };
    }
    const endedAt = now();
    if (route === 'new') await connection.close();
    return { calledAt, endedAt, outcome, ...(value === undefined ? {} : { value }) };
  }

  #connection(route: Route): Promise<Connection> {
    const { fence, callTimeoutMs, detour } = instructions;
    const open = (): Promise<Connection> => openFence(fence, callTimeoutMs, route === 'held back' ? detour : undefined);
    if (route === 'new') return open();
    const found = this.#connections.get(route) ?? open();
    this.#connections.set(route, found);
    return found;
  }

  async #finish(): Promise<void> {
    const connections = await Promise.allSettled(this.#connections.values());
    const open = connections.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    // What the user's close() makes of it changes no verdict.
    await Promise.allSettled([...open.map((connection) => connection.close()), this.#client?.close()]);
  }
}

async function change(connection: Connection, call: Exclude<Call, { readonly type: 'read' }>): Promise<Outcome> {
  switch (call.type) {
    case 'write':
      return await connection.write(call.value, call.token);
    case 'write-unfenced':
      return await able(connection.writeUnfenced)(call.value, call.token);
    case 'install':
      return await able(connection.install)(call.token);
  }
}

function able<T>(method: T | undefined): T {
  if (method === undefined) throw new Error('told to do what this resource cannot');
  return method;
}

async function until(at: number): Promise<void> {
  const waitMs = at - now() - SPUN_MS;
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  while (now() < at);
}

const work = new HolderWork();

function reply(message: Reply): void {
  if (process.connected) process.send?.(message);
}

async function obey({ id, command }: Request): Promise<void> {
  try {
    reply({ id, result: await work.do(command) });
  } catch (error) {
    reply({ id, error: messageOf(error), input: error instanceof ResourceInputError });
  }
  if (command.do === 'finish') process.disconnect();
}

process.on('message', (request: Request) => void obey(request));
// Also when the parent is gone; a connection that the user's module leaves open must not keep this process.
process.on('disconnect', () => process.exit());
