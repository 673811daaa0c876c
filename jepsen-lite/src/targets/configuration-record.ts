/** The configurations of groups of replicas, as the ensemble's log has them: no version is missed, as one who watches may. */

import type { ConfigurationEvent } from '../history/history.ts';
import type { AppliedWrite } from './applied-write.ts';

const PATH = /^\/fenced-kv\/([^/]+)\/configuration$/;

export class ConfigurationRecord {
  /** By group. */
  readonly #versions = new Map<string, number>();
  /** Requests that have made one: what is sent again is answered alike, and makes none. */
  readonly #requests = new Set<string>();

  /** Undefined: by this write none was made. Entries are told in their order. */
  madeBy({ index, path, value, refused, session, number }: AppliedWrite): ConfigurationEvent | undefined {
    const group = PATH.exec(path)?.[1];
    if (group === undefined || value === undefined || refused !== undefined) return undefined;
    const request = `${session} ${number}`;
    if (this.#requests.has(request)) return undefined;
    this.#requests.add(request);
    const { epoch, primary, inSync } = JSON.parse(value) as Pick<ConfigurationEvent, 'epoch' | 'primary' | 'inSync'>;
    const version = (this.#versions.get(group) ?? -1) + 1;
    this.#versions.set(group, version);
    return { type: 'configured', index, group, version, epoch, primary, inSync };
  }
}
