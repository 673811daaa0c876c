/**
 * Sessions that nobody uses: they connect at once, and all of them again whenever their connections are lost, which is work for servers
 * that have other things to do. What became of each is recorded, under the name of the crowd and not of the application.
 */

import { connect } from '@holdfast/client';
import type { ClientSession, Workload } from './workload.ts';

/** Between two looks at whether the run goes on. */
const LOOK_MS = 100;
/** As long as the application's own session may take. */
const CONNECT_TIMEOUT_MS = 300_000;

/** Of the name under which a crowd is recorded. */
export const CROWD_SUFFIX = '.crowd';

export const crowd: Workload = {
  name: 'crowd',
  checks: [],
  onRequest: true,
  async beside(session) {
    await Promise.all(Array.from({ length: session.plan.crowd ?? 0 }, () => attend(session)));
  },
};

/** One session after another, until the run is over. */
async function attend({ plan, runtime, world, goesOn, sleep }: ClientSession): Promise<void> {
  const { sessionTimeoutMs } = plan;
  const who = `${plan.name}${CROWD_SUFFIX}`;
  while (goesOn()) {
    const options = { servers: world.servers(), sessionTimeoutMs, label: who, connectTimeoutMs: CONNECT_TIMEOUT_MS };
    const client = await connect(options, runtime);
    const session = client.sessionId;
    world.record(who, { type: 'session', event: 'connected', session, timeoutMs: sessionTimeoutMs });
    client.events.on('connected', () => world.record(who, { type: 'session', event: 'reconnected', session }));
    while (goesOn() && client.state !== 'expired') await sleep(LOOK_MS);
    await client.close();
    world.record(who, { type: 'session', event: client.state === 'expired' ? 'expired' : 'closed', session });
  }
}
