/** Patterns of strangers at the ports of servers that all others know. */

import { INTRUDER_PURPOSES } from '../../../nemeses/target.ts';
import type { Fault } from '../../../nemeses/index.ts';
import { oneOf } from '../../../plan/choices.ts';
import { serverHost, serverIds } from '../../../plan/plan.ts';
import type { FaultPattern, PatternDraw } from '../pattern.ts';

const INTRUSIONS = 8;
const REPLAYS = 4;
const UNKNOWN_SERVER = 99;

/** So many times in a turn, one after another. */
function spread(times: number, { atMs, forMs }: PatternDraw, draw: (atMs: number) => Fault): readonly Fault[] {
  return Array.from({ length: times }, (_, n) => draw(Math.floor(atMs + (n * forMs) / times)));
}

export const STRANGER_PATTERNS: readonly FaultPattern[] = [
  {
    name: 'intruders',
    what: 'somebody dials servers in the name of others, and asks for the log, a snapshot or an expulsion',
    kinds: ['intrude'],
    draw(drawn) {
      const { random, plan } = drawn;
      const ids = serverIds(plan);
      return spread(INTRUSIONS, drawn, (atMs) => ({
        kind: 'intrude',
        atMs,
        server: oneOf(random, ids),
        as: oneOf(random, [...ids, UNKNOWN_SERVER]),
        purpose: oneOf(random, INTRUDER_PURPOSES),
        hasty: random.integer(2) === 0,
      }));
    },
  },
  {
    name: 'usurped-port',
    what: 'a server is killed, and somebody at its port tells the others that they are no members',
    kinds: ['usurp', 'kill'],
    // One server at a time: usurpers of several ports could be a majority.
    draw({ plan, atMs, forMs }) {
      const server = 1 + (plan.seed % plan.servers);
      return [
        { kind: 'usurp', atMs, forMs, server },
        { kind: 'kill', atMs: atMs + 1, forMs: Math.ceil(forMs / 2), hosts: [serverHost(server)] },
      ];
    },
  },
  {
    name: 'replayed-requests',
    what: 'a client sends its requests twice, those that were answered again, and some without a number',
    kinds: ['replay'],
    draw: (drawn) =>
      spread(REPLAYS, drawn, (atMs) => ({ kind: 'replay', atMs, server: oneOf(drawn.random, serverIds(drawn.plan)) })),
  },
];
