/** A pattern of what operators do about versions: each of its turns is a step, so that others strike between two of them. */

import type { Fault } from '../../../nemeses/index.ts';
import { LEADER } from '../../../plan/plan.ts';
import type { FaultPattern } from '../pattern.ts';

export const VERSION_PATTERNS: readonly FaultPattern[] = [
  {
    name: 'rolling-upgrade',
    what: 'a server goes to the newer version and back; then all go, one a turn, and are stopped and started in turn',
    kinds: ['change-version', 'stop'],
    draw({ servers, atMs, forMs, drawn }) {
      const changes = drawn.filter((fault) => fault.kind === 'change-version');
      const halfMs = Math.floor(forMs / 2);
      const taken = changes.at(0)?.host;
      if (taken === undefined) {
        const [host = LEADER] = servers;
        return [
          { kind: 'change-version', atMs, host, version: 'newer' },
          { kind: 'change-version', atMs: atMs + halfMs, host, version: 'older' },
        ];
      }
      const newer = new Set(changes.slice(2).map(({ host }) => host));
      const next = [taken, ...servers].find((host) => !newer.has(host));
      if (next !== undefined) return [{ kind: 'change-version', atMs, host: next, version: 'newer' }];
      // One that was down when it was its turn goes now.
      const host = oldest(changes, servers.length);
      return [
        { kind: 'change-version', atMs, host, version: 'newer' },
        { kind: 'stop', atMs: atMs + halfMs, forMs: Math.ceil(forMs / 4), host },
      ];
    },
  },
];

/** Whose last turn is the longest ago. */
function oldest(changes: readonly Extract<Fault, { readonly kind: 'change-version' }>[], servers: number): string {
  return changes.at(-servers)?.host ?? LEADER;
}
