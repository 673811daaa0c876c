/** Linearizable reads at a steady rate: however long an answer takes, the next one goes out in time. Nobody looks at what they find. */

import { failureOf } from '../calls.ts';
import type { Workload } from '../workload.ts';

/** Unanswered reads of a client. */
const MAX_UNANSWERED = 50;
const PATH = '/register-0';

export const steadyReads: Workload = {
  name: 'steady-reads',
  checks: [],
  async beside({ client, goesOn, plan, sleep, world }) {
    const { readEveryMs } = plan;
    let unanswered = 0;
    while (readEveryMs !== undefined && goesOn()) {
      await sleep(readEveryMs);
      if (unanswered >= MAX_UNANSWERED) continue;
      unanswered += 1;
      client.nodes
        .exists(PATH)
        .catch((error: unknown) => {
          if (failureOf(error) === undefined) world.unexpected(plan.name, error);
        })
        .finally(() => (unanswered -= 1));
    }
  },
};
