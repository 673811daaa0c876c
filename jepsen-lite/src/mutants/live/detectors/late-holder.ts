/** A holder that was stopped for longer than its session lives knows it at its first look, before any timer of its has had a turn. */

import { join } from 'node:path';

import type { LiveDetector } from '../live-mutant.ts';
import { Program } from '../program.ts';
import { CLUSTER_ID, connectTo, startLockd } from './lockd-program.ts';

const SESSION_MS = 2_000;

export const lateHolder: LiveDetector = async ({ planted, directory }) => {
  const server = await startLockd(planted, join(directory, 'data'));
  const holder = new Program(
    planted,
    ['@holdfast/jepsen-lite', 'mutants/live/programs/holder-program.js'],
    [server.address, CLUSTER_ID, `${SESSION_MS}`, 'a'],
  );
  const client = await connectTo(server.address, 30_000);
  try {
    await holder.says('held');
    holder.signal('SIGSTOP');
    const next = await client.lock('a').acquire();
    // A busy machine, too, may keep it from looking for long, when it holds the lock indeed.
    const before = holder.lines.length;
    holder.signal('SIGCONT');
    const said = await holder.line(() => holder.lines.slice(before).find((line) => line.includes(' after ')));
    if (said.startsWith('lost')) return undefined;
    return {
      kind: 'promise',
      name: 'late-holder',
      message: `a stopped holder says that it ${said}, though token ${next.token} is another's`,
    };
  } finally {
    await holder.kill();
    await server.program.kill();
    await client.close();
  }
};
