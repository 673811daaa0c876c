/** Power failure of machines, together; each starts again at its end. Any number may fail: what is durable comes back. */

import { oneOf } from '../../plan/choices.ts';
import { hosts, choice } from '../../plan/fields.ts';
import { each, TEARS } from '../target.ts';
import { nemesis } from '../nemesis.ts';
import { victims } from './victims.ts';

export const crash = nemesis({
  kind: 'crash',
  lasts: true,
  fields: { hosts, tear: choice(TEARS) },
  needs: ['power', 'processes'],
  oneIn: 4,
  strikes: ['crash', 'restart', 'unsynced-change-lost', 'unsynced-name-lost'],
  strikesSeldom: ['unsynced-change-torn'],
  draw(draw) {
    const struck = victims(draw);
    return [{ kind: 'crash', ...draw.lasting, hosts: struck, tear: oneOf(draw.random, ['none', 'random', 'all']) }];
  },
  begin: (fault, { power }) => each(fault.hosts, (host) => power.fail(host, fault.tear)),
  end: (fault, { processes }) => each(fault.hosts, (host) => processes.start(host)),
});
