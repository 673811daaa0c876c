/**
 * A replica of the fenced store in a simulated world: the life of a real one, with its part in the simulated ensemble, over the journal engine,
 * on a host that crashes and starts again.
 */

import { connect } from '@holdfast/client';
import { openJournalEngine } from '@holdfast/fenced-kv';
import { ReplicaBackend, type GroupFacts } from '@holdfast/fenced-kv/replication';
import type { Runtime } from '@holdfast/runtime';
import type { SimHost } from '@holdfast/runtime/sim';
import { GROUP, replicaHosts, type Plan } from '../../../plan/plan.ts';
import { keptBy, type KeptEvent } from '../../kept.ts';
import { serveCalls } from '../rpc.ts';
import { answer, type AskedReplica } from './replica-calls.ts';

export const REPLICA_CLIENT_PORT = 7400;
const PEER_PORT = 7500;
const DIRECTORY = '/data';
/** Small, so that journals are written anew. */
const REWRITE_MIN_BYTES = 20_000;
const SECRET = new TextEncoder().encode('a secret of the group');
/** Short, so that a run sees many primaries. */
const SESSION_MS = 1_500;
const REMOVAL_MS = 600;
const CONNECT_TIMEOUT_MS = 5_000;

export interface ReplicaHostOptions {
  readonly plan: Pick<Plan, 'replicas'>;
  /** Where servers may be found now. */
  readonly servers: () => readonly string[];
  readonly failed: (error: unknown) => void;
}

export class ReplicaHost {
  readonly host: SimHost;
  readonly #options: ReplicaHostOptions;
  #boots = 0;
  #backend: ReplicaBackend | undefined;
  #stopping = false;

  constructor(host: SimHost, options: ReplicaHostOptions) {
    this.host = host;
    this.#options = options;
  }

  /** What it says of itself; undefined while it does not run. */
  get facts(): GroupFacts | undefined {
    return this.host.state === 'up' ? this.#backend?.group : undefined;
  }

  /** Starts the process; what goes wrong is told to `failed`. */
  boot(): void {
    if (this.host.state === 'down') this.host.restart();
    this.#boots += 1;
    const boot = this.#boots;
    this.#serve(this.host.runtime, boot).catch((error: unknown) => {
      if (boot === this.#boots) this.#options.failed(error);
    });
  }

  /** After the host's crash or kill. */
  died(): void {
    this.#boots += 1;
    this.#backend = undefined;
    this.#stopping = false;
  }

  /** SIGTERM. `then` runs when the process has ended; never, when it crashes first. */
  stop(then: () => void): void {
    const backend = this.#backend;
    const boot = this.#boots;
    if (backend === undefined || this.host.state !== 'up' || this.#stopping) return;
    this.#stopping = true;
    const ended = (error?: unknown): void => {
      if (boot !== this.#boots) return;
      if (error !== undefined) this.#options.failed(error);
      this.host.kill();
      this.died();
      then();
    };
    backend.close().then(() => ended(), ended);
  }

  /** What is on the disk of one that has been stopped. */
  async kept(): Promise<readonly KeptEvent[]> {
    this.host.restart();
    const engine = await openJournalEngine(DIRECTORY, { disk: this.host.runtime.disk });
    const events = await keptBy(engine);
    await engine.close();
    return events;
  }

  async #serve(runtime: Runtime, boot: number): Promise<void> {
    const { failed, servers, plan } = this.#options;
    const id = this.host.name;
    const onFailure = (error: Error): void => {
      if (boot === this.#boots) failed(error);
    };
    const { disk, clock } = runtime;
    const engine = await openJournalEngine(DIRECTORY, { disk, onFailure, rewriteMinBytes: REWRITE_MIN_BYTES });
    const others = replicaHosts(plan).filter((each) => each !== id);
    const settings = {
      group: GROUP,
      id,
      peerListen: `${id}:${PEER_PORT}`,
      peers: new Map(others.map((each) => [each, `${each}:${PEER_PORT}`])),
      advertise: undefined,
      secretFile: '',
      initialInSync: replicaHosts(plan),
      sessionTimeoutMs: SESSION_MS,
      removalMs: REMOVAL_MS,
      servers: servers(),
    };
    const session = { label: id, sessionTimeoutMs: SESSION_MS, connectTimeoutMs: CONNECT_TIMEOUT_MS };
    const backend = ReplicaBackend.on(
      { engine, prepared: undefined, close: async () => await engine.close() },
      { settings, secret: SECRET, store: { clock } },
      {
        ...runtime,
        onFailure,
        connect: async (signal) => await connect({ ...session, servers: [...servers()], signal }, runtime),
      },
    );
    await serveCalls(runtime, `${id}:${REPLICA_CLIENT_PORT}`, async (body) => {
      return await answer(backend, body as AskedReplica, failed);
    });
    this.#backend = backend;
    backend.begin(`http://${id}:${REPLICA_CLIENT_PORT}`);
  }
}
