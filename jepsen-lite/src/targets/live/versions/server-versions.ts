/**
 * Which version of the program each server of a live run has. It is the host's: whatever ends a server and starts it again, it keeps its
 * version. Where a schedule changes versions, the ensemble begins with the older one, and servers that join have the newer one.
 */

import { programEntry } from '@holdfast/ensemble';
import type { Version } from '../../../nemeses/target.ts';
import type { OlderBuild } from './older-build.ts';

export interface ServerProgram {
  readonly entry: string;
  /** Beside that of other programs. */
  readonly environment: NodeJS.ProcessEnv;
}

export class ServerVersions {
  readonly #older: OlderBuild | undefined;
  readonly #newer: string;
  readonly #versions: Map<string, Version>;
  readonly #everNewer = new Set<string>();

  /**
   * @param older undefined: all servers are of the newer version throughout
   * @param newer its main file
   */
  constructor(founders: readonly string[], older: OlderBuild | undefined, newer = programEntry('lockd')) {
    this.#older = older;
    this.#newer = newer;
    this.#versions = new Map(older === undefined ? [] : founders.map((host) => [host, 'older']));
  }

  of(host: string): Version {
    return this.#versions.get(host) ?? 'newer';
  }

  /** Those of the older version that have never been of the newer one. */
  get untouched(): readonly string[] {
    return [...this.#versions.keys()].filter((host) => !this.#everNewer.has(host));
  }

  get older(): readonly string[] {
    return [...this.#versions].flatMap(([host, version]) => (version === 'older' ? host : []));
  }

  programOf(host: string): ServerProgram {
    if (this.#older !== undefined && this.of(host) === 'older') return this.#older;
    return { entry: this.#newer, environment: {} };
  }

  /** From the next start of its server on. */
  change(host: string, version: Version): void {
    this.#versions.set(host, version);
    if (version === 'newer') this.#everNewer.add(host);
  }
}
