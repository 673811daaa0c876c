/** Patterns of what operators do about the members: servers come and go, or are replaced, while others strike. */

import { LEADER, serverIds, type Plan } from '../../../plan/plan.ts';
import { joiningIds } from '../../scenario.ts';
import type { Fault } from '../../../nemeses/index.ts';
import type { FaultPattern, PatternDraw } from '../pattern.ts';

/** Each has a host of its own from the beginning of the run, and its number is used once. */
const MAX_JOINING = 9;

export const MEMBER_PATTERNS: readonly FaultPattern[] = [
  {
    name: 'member-churn',
    what: 'a server joins as an observer or as a voter, is promoted, and another one or the leader is removed',
    kinds: ['add-member', 'promote-member', 'remove-member', 'transfer-leadership'],
    draw(draw) {
      const server = nextId(draw);
      if (server === undefined) return transfers(draw);
      const { atMs, forMs, plan, drawn } = draw;
      const observer = server % 2 === 0;
      const promoteAtMs = Math.floor(atMs + forMs / 3);
      const removed = server % 2 === 0 ? LEADER : (oldest(plan, drawn) ?? LEADER);
      return [
        { kind: 'add-member', atMs, server, observer, startAfterMs: 0 },
        ...(observer ? [{ kind: 'promote-member', atMs: promoteAtMs, server } as const] : []),
        { kind: 'remove-member', atMs: Math.floor(atMs + (2 * forMs) / 3), server: removed },
      ];
    },
  },
  {
    name: 'replace-disk',
    what: 'a server loses its disk, is refused, and is replaced by one with another number',
    kinds: ['add-member', 'remove-member', 'lose-disk', 'transfer-leadership'],
    draw(draw) {
      const server = nextId(draw);
      const { atMs, forMs, plan, drawn } = draw;
      const lost = oldest(plan, drawn);
      // One run survives few of them: whoever has lost its disk counts as a voter until it is removed.
      if (server === undefined || lost === undefined || drawn.some(({ kind }) => kind === 'lose-disk')) {
        return transfers(draw);
      }
      return [
        { kind: 'lose-disk', atMs, server: lost },
        { kind: 'remove-member', atMs: Math.floor(atMs + forMs / 2), server: lost },
        { kind: 'add-member', atMs: Math.floor(atMs + forMs / 2) + 1, server, observer: false, startAfterMs: 0 },
      ];
    },
  },
  {
    name: 'observer',
    what: 'a server joins as an observer, which follows and serves without a vote, and is removed again',
    kinds: ['add-member', 'remove-member', 'transfer-leadership'],
    draw(draw) {
      const server = nextId(draw);
      if (server === undefined) return transfers(draw);
      const { atMs, forMs } = draw;
      return [
        { kind: 'add-member', atMs, server, observer: true, startAfterMs: 0 },
        { kind: 'remove-member', atMs: atMs + forMs - 1, server },
      ];
    },
  },
];

/** Undefined when all are used up. */
function nextId({ plan: { servers }, drawn }: PatternDraw): number | undefined {
  const used = joiningIds({ servers, faults: drawn }).at(-1) ?? servers;
  return used < servers + MAX_JOINING ? used + 1 : undefined;
}

/** Of the founders that nobody was to remove by its number. */
function oldest(plan: Plan, drawn: readonly Fault[]): number | undefined {
  const removed = new Set(drawn.flatMap((fault) => (fault.kind === 'remove-member' ? fault.server : [])));
  return serverIds(plan).find((id) => !removed.has(id));
}

function transfers({ atMs }: PatternDraw): readonly Fault[] {
  return [{ kind: 'transfer-leadership', atMs, server: 0 }];
}
