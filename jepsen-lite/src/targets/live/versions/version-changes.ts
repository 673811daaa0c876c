/**
 * A rolling upgrade of a live ensemble, by one operator: a change at a time. An older server does not begin on data of a state version that
 * it does not know, and the leader raises that version when every member has offered it. So a server goes back to the older version only
 * beside a member that has never had the newer one.
 */

import { LATEST_STATE_VERSION } from '@holdfast/state';
import type { Capabilities, Version } from '../../../nemeses/target.ts';
import type { LiveServer } from '../members/live-server.ts';
import type { ScrapedStatus } from '../processes/scrape.ts';
import type { OlderBuild } from './older-build.ts';
import type { ServerVersions } from './server-versions.ts';

/** In which an operator looks after a server that has begun; then the next one may have its turn. */
const SETTLE_MS = 5_000;
/** For a server that was upgraded, to have what the others have. */
const CATCH_UP_MS = 30_000;
/** The leader looks for ten seconds, and begins anew when it changes or loses a connection. */
const RAISED_MS = 40_000;

type UpgradedServer = Pick<LiveServer, 'begun' | 'expelled' | 'leaves'> & {
  readonly machine: Pick<LiveServer['machine'], 'up' | 'served' | 'terminate' | 'start'>;
};

export interface VersionChangesOptions {
  readonly versions: ServerVersions;
  readonly older: Pick<OlderBuild, 'stateVersion' | 'missing'>;
  /** By host, those that may join among them. */
  readonly servers: ReadonlyMap<string, UpgradedServer>;
  readonly scraper: { readonly latest: ReadonlyMap<string, ScrapedStatus>; readonly committedSeen: number };
  readonly runUntil: (condition: () => boolean, maxMs: number) => Promise<boolean>;
  readonly changed: () => void;
  readonly fail: (name: string, message: string) => void;
}

export class VersionChanges {
  readonly #options: VersionChangesOptions;
  #last: Promise<void> = Promise.resolve();

  constructor(options: VersionChangesOptions) {
    this.#options = options;
  }

  readonly capability: Capabilities['versions'] = {
    change: async (host, version) => {
      const before = this.#last;
      const done = before.then(() => this.#change(host, version));
      // Whoever ordered one hears of its failure; the next one goes on.
      this.#last = done.catch(() => undefined);
      await done;
    },
  };

  /** Of the host's status that was heard last: nothing is raised that a member does not know. */
  look(host: string): void {
    const { older, scraper, fail } = this.#options;
    const { stateVersion } = scraper.latest.get(host) ?? {};
    if (older.stateVersion === undefined || stateVersion === undefined || stateVersion <= older.stateVersion) return;
    const [behind] = this.#members(this.#options.versions.older);
    if (behind === undefined) return;
    fail(
      'no-version-is-raised-early',
      `${host} applies by state version ${stateVersion}, which ${behind} does not know`,
    );
  }

  /** Under load, when the members have come to rest: those that are still of the older version are upgraded, one after another. */
  async complete(): Promise<void> {
    const { versions, servers, older, scraper, runUntil, fail } = this.#options;
    for (const host of versions.older) {
      if (servers.get(host)?.expelled === true) continue;
      await this.capability.change(host, 'newer');
      const { committedSeen } = scraper;
      if (!(await runUntil(() => this.#hasCaughtUp(host, committedSeen), CATCH_UP_MS))) {
        fail('every-server-is-upgraded', `${host} has not caught up ${CATCH_UP_MS} ms after its upgrade`);
        return;
      }
    }
    if (!(await runUntil(() => this.#raised, RAISED_MS))) {
      const said = this.#running.map((host) => `${host}: ${this.#stateVersion(host) ?? 'nothing'}`).join(', ');
      fail(
        'every-server-is-upgraded',
        `${RAISED_MS} ms after the last one not all apply by state version ${LATEST_STATE_VERSION}: ${said}`,
      );
    }
    const missing = older.missing();
    if (missing.length > 0) fail('the-older-version-is-older', `no server has loaded its ${missing.join(', ')}`);
  }

  async #change(host: string, version: Version): Promise<void> {
    const { versions, servers, scraper, runUntil, changed } = this.#options;
    const server = servers.get(host);
    if (server?.machine.up !== true || versions.of(host) === version) return;
    if (version === 'older' && this.#members(versions.untouched).every((other) => other === host)) return;
    server.machine.terminate();
    versions.change(host, version);
    await server.machine.start();
    if (!server.machine.served) return;
    changed();
    const { committedSeen } = scraper;
    await runUntil(() => !server.machine.up || this.#hasCaughtUp(host, committedSeen), SETTLE_MS);
  }

  /** Those of them that the ensemble is not about to go on without. */
  #members(hosts: readonly string[]): readonly string[] {
    return hosts.filter((host) => this.#options.servers.get(host)?.leaves === false);
  }

  get #running(): readonly string[] {
    return [...this.#options.servers].flatMap(([host, { begun, expelled }]) => (begun && !expelled ? host : []));
  }

  get #raised(): boolean {
    return this.#running.every((host) => (this.#stateVersion(host) ?? 0) >= LATEST_STATE_VERSION);
  }

  #stateVersion(host: string): number | undefined {
    return this.#options.scraper.latest.get(host)?.stateVersion;
  }

  #hasCaughtUp(host: string, index: number): boolean {
    const { appliedIndex = 0, leader = 0 } = this.#options.scraper.latest.get(host) ?? {};
    return leader !== 0 && appliedIndex >= index;
  }
}
