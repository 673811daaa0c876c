/** The wall clock of a host jumps by up to half a minute, either way. */

import { host, number } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const wallJump = nemesis({
  kind: 'wall-jump',
  lasts: false,
  fields: { host, byMs: number },
  needs: ['clocks'],
  oneIn: 4,
  strikes: ['wall-jump'],
  draw: ({ random, lasting: { atMs }, host: struck }) => [
    { kind: 'wall-jump', atMs, host: struck, byMs: Math.floor((random.next() - 0.5) * 60_000) },
  ],
  begin: (fault, { clocks }) => clocks.jumpWall(fault.host, fault.byMs),
});
