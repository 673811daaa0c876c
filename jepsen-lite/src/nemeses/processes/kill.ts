/** SIGKILL of processes, together; each starts again at its end. The disk cache survives. */

import { hosts } from '../../plan/fields.ts';
import { each } from '../target.ts';
import { nemesis } from '../nemesis.ts';
import { victims } from './victims.ts';

export const kill = nemesis({
  kind: 'kill',
  lasts: true,
  fields: { hosts },
  needs: ['processes'],
  oneIn: 4,
  strikes: ['kill', 'restart', 'frame-lost'],
  draw: (draw) => [{ kind: 'kill', ...draw.lasting, hosts: victims(draw) }],
  begin: (fault, { processes }) => each(fault.hosts, (host) => processes.kill(host)),
  end: (fault, { processes }) => each(fault.hosts, (host) => processes.start(host)),
});
