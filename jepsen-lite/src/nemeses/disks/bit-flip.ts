/**
 * A bit of what a server's log has acknowledged. It is found when it is read, or at the next start, which cuts the log there and bans the
 * vote. One server at most: any other that loses its log for good might leave no majority that has one.
 */

import { integer, host, number } from '../../plan/fields.ts';
import { companion, nemesis } from '../nemesis.ts';
import { crash } from '../processes/crash.ts';

const KIND = 'bit-flip';

export const bitFlip = nemesis({
  kind: KIND,
  lasts: false,
  fields: { host, at: number, bit: integer },
  needs: ['damage'],
  oneIn: 4,
  strikes: ['flipped-bit-read'],
  draw({ random, plan, lasting: { atMs }, server, drawn }) {
    if (atMs < plan.durationMs / 2 || drawn.some(({ kind }) => kind === KIND)) return [];
    return [
      { kind: KIND, atMs, host: server, at: random.next(), bit: random.integer(8) },
      companion(crash, { kind: 'crash', atMs: atMs + 1, forMs: 100, hosts: [server], tear: 'none' }),
    ];
  },
  begin: (fault, { damage }) => damage.flipBit(fault.host, fault.at, fault.bit),
});
