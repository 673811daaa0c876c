/** Three candidates of one election: the winner is killed, another one leads, and a new candidate takes the place of the dead one. */

import { connect, type Client } from '@holdfast/client';
import { waitUntil } from '@holdfast/ensemble';

import { ClientProcess } from '../client-process.ts';
import { expiredAtMs } from './expiry-log.ts';
import type { CandidateOrder, CandidateReport } from './orders.ts';

const CANDIDATES = 3;
const ELECTION = 'bench';
/** Of the election's lock. */
const LOCK = `election/${ELECTION}`;
const SESSION_TIMEOUT_MS = 2_000;
const QUEUED_LIMIT_MS = 30_000;
const CHANGE_LIMIT_MS = 30_000;

interface Candidate {
  readonly process: ClientProcess<CandidateOrder, CandidateReport>;
  readonly sessionId: number;
  readonly leads: Promise<CandidateReport>;
}

export interface ElectionChange {
  /** From the end of the winner's session until the next term began at another candidate. */
  readonly changeMs: number;
  /** The same from its death: its session's timeout is in it. */
  readonly sinceKillMs: number;
}

export class Campaigns {
  readonly #servers: readonly string[];
  readonly #logFiles: readonly string[];
  readonly #observer: Client;
  #candidates: Candidate[] = [];

  private constructor(servers: readonly string[], logFiles: readonly string[], observer: Client) {
    this.#servers = servers;
    this.#logFiles = logFiles;
    this.#observer = observer;
  }

  static async start(servers: readonly string[], logFiles: readonly string[]): Promise<Campaigns> {
    return new Campaigns(servers, logFiles, await connect({ servers }));
  }

  pids(): number[] {
    return this.#candidates.map(({ process }) => process.pid);
  }

  /** One leads, and the others wait for that. */
  async fill(): Promise<void> {
    while (this.#candidates.length < CANDIDATES) this.#candidates.push(await this.#candidate());
    const queued = await waitUntil(async () => {
      const { waiters } = await this.#observer.admin.lock(LOCK);
      return waiters.length >= CANDIDATES - 1 ? true : undefined;
    }, QUEUED_LIMIT_MS);
    if (queued === undefined) throw new Error(`not all candidates had campaigned within ${QUEUED_LIMIT_MS} ms`);
  }

  /** Kills who leads. */
  async change(): Promise<ElectionChange> {
    const { holders } = await this.#observer.admin.lock(LOCK);
    const winner = this.#candidates.find(({ sessionId }) => sessionId === holders[0]?.session);
    if (winner === undefined) throw new Error('no candidate leads');
    // It leads in the eyes of its own process, too, with its value told.
    await winner.leads;
    this.#candidates = this.#candidates.filter((candidate) => candidate !== winner);
    const killedAtMs = Date.now();
    await winner.process.kill();
    const next = await Promise.race([...this.#candidates.map(({ leads }) => leads), rejectLate()]);
    return {
      changeMs: next.atMs - expiredAtMs(this.#logFiles, winner.sessionId),
      sinceKillMs: next.atMs - killedAtMs,
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#candidates.map(({ process }) => process.kill()));
    await this.#observer.close();
  }

  async #candidate(): Promise<Candidate> {
    const process = new ClientProcess<CandidateOrder, CandidateReport>(new URL('candidate.js', import.meta.url));
    const { sessionId } = await process.ask({
      type: 'campaign',
      servers: this.#servers,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      election: ELECTION,
    });
    const leads = process.ask({ type: 'lead' });
    // Candidates that are killed while they wait never lead.
    leads.catch(() => undefined);
    return { process, sessionId, leads };
  }
}

function rejectLate(): Promise<never> {
  return new Promise((_resolve, reject) => {
    const error = new Error(`nobody led within ${CHANGE_LIMIT_MS} ms of the winner's death`);
    setTimeout(() => reject(error), CHANGE_LIMIT_MS).unref();
  });
}
