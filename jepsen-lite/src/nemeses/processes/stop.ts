/** SIGTERM of a server: it transfers leadership, closes, and starts again at its end. */

import { host } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const stop = nemesis({
  kind: 'stop',
  lasts: true,
  fields: { host },
  needs: ['processes'],
  oneIn: 4,
  strikes: ['terminated', 'restart'],
  draw: ({ lasting, server }) => [{ kind: 'stop', ...lasting, host: server }],
  begin: (fault, { processes }) => processes.terminate(fault.host),
  end: (fault, { processes }) => processes.start(fault.host),
});
