/** Through what is asked that needs no session: reads, and what operators ask of servers. */

import type { CallHost, Channel } from './call.ts';
import type { AdminCall } from './channels/admin-pipeline.ts';
import type { ReadCall } from './channels/read-pipeline.ts';

export interface Asker extends CallHost {
  readonly reads: Channel<ReadCall>;
  readonly admin: Channel<AdminCall>;
}

/** The channels of an asker. */
export type AskingChannels = Pick<Asker, 'reads' | 'admin'>;

/** Those of whoever is the asker at that moment. */
export function askerOf(present: () => AskingChannels): AskingChannels {
  return {
    get reads() {
      return present().reads;
    },
    get admin() {
      return present().admin;
    },
  };
}
