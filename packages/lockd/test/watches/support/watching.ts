/** A client that watches, and one that changes nodes, at the level of messages. */

import type { ServerMessage, WatchKind } from '@holdfast/protocol';
import { LoopbackEnsemble, type LoopbackServer } from '../../support/loopback.ts';
import type { ConnectionFaults, TestClient } from '../../support/test-client.ts';

type Sent = readonly [kind: WatchKind, path: string, existed?: boolean];

/** `created /a 5`, `missed 3 5`, `watching 7 6`; what else came by its type. */
export function inWords(messages: readonly ServerMessage[]): string[] {
  return messages.flatMap((message) => {
    const to = 'id' in message && message.id !== 0 ? `${message.id}: ` : '';
    if (message.type === 'events')
      return message.events.map(({ type, path }) => `${to}${type} ${path} ${message.through}`);
    if (message.type === 'missed') return [`${to}missed ${message.from} ${message.through}`];
    if (message.type === 'watching') return [`watching ${message.id} ${message.index}`];
    if (message.type === 'unwatched') return [`unwatched ${message.id}`];
    if (message.type === 'watch-refused') return [`refused ${message.id} ${message.code}`];
    return [message.type];
  });
}

export class Watching {
  readonly client: TestClient;
  #id = 0;

  constructor(client: TestClient) {
    this.client = client;
  }

  /** Sends one watch message; the answer is to be heard. */
  send(nodes: readonly Sent[], { from = 0, minIndex = 0 } = {}): void {
    this.#id += 1;
    const named = nodes.map(([kind, path, existed = true]) => ({ kind, path, existed }));
    this.client.send({ type: 'watch', id: this.#id, from, minIndex, nodes: named });
  }

  /** The same, with all that has come by the end of the turn. */
  watch(nodes: readonly Sent[], options: { from?: number; minIndex?: number } = {}): string[] {
    this.send(nodes, options);
    return this.heard();
  }

  unwatch(...nodes: readonly Sent[]): string[] {
    this.#id += 1;
    this.client.send({ type: 'unwatch', id: this.#id, nodes: nodes.map(([kind, path]) => ({ kind, path })) });
    return this.heard();
  }

  heard(): string[] {
    return inWords(this.client.take());
  }
}

/** Makes changes, each of which is applied when the call returns. */
class Changing {
  readonly #ensemble: LoopbackEnsemble;
  readonly client: TestClient;
  #number = 0;

  constructor(ensemble: LoopbackEnsemble, client: TestClient) {
    this.#ensemble = ensemble;
    this.client = client;
    client.attach(99);
  }

  create(path: string, mode: 0 | 1 = 0): number {
    return this.#request({ type: 'create', path, data: new Uint8Array(), mode });
  }

  set(path: string): number {
    return this.#request({ type: 'set', path, data: Uint8Array.of(1), version: -1 });
  }

  delete(path: string): number {
    return this.#request({ type: 'delete', path, version: -1 });
  }

  acquire(lock: string): number {
    return this.#request({ type: 'acquire', lock, kind: 0, wait: true });
  }

  #request(command: Parameters<TestClient['request']>[1]): number {
    this.#number += 1;
    this.client.request(this.#number, command, this.#number - 1);
    this.client.take();
    return this.#ensemble.log.length;
  }
}

export interface Scene {
  readonly ensemble: LoopbackEnsemble;
  readonly server: LoopbackServer;
  readonly changing: Changing;
  readonly watcher: (server?: number, faults?: ConnectionFaults) => Watching;
}

/** @param historyBytes of every server; the default where it is left out */
export function scene({ servers = 1, historyBytes }: { servers?: number; historyBytes?: number } = {}): Scene {
  const ensemble = new LoopbackEnsemble(servers);
  if (historyBytes !== undefined) {
    for (const server of ensemble.servers) {
      server.watchHistoryBytes = historyBytes;
      server.restart();
    }
  }
  ensemble.elect(1);
  const server = ensemble.server(1);
  return {
    ensemble,
    server,
    changing: new Changing(ensemble, server.connect()),
    watcher: (id = 1, faults = {}) => new Watching(ensemble.server(id).connectWatcher(faults)),
  };
}
