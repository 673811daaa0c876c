/** Links of a live network as capabilities: several faults may cut one link, and what is cut together is one change. */

import type { Capabilities, Done } from '../../../nemeses/target.ts';
import type { Holds } from '../../holds.ts';
import type { LinkDelays, LiveNetwork, Pair } from './live-network.ts';
import { Together } from './together.ts';

export function linkCapabilities(
  { links, delays }: Pick<LiveNetwork, 'links' | 'delays'>,
  holds: Holds,
): Partial<Pick<Capabilities, 'links' | 'connections' | 'delays'>> {
  return {
    ...(links === undefined ? {} : { links: linksOf(links, holds), connections: connectionsOf(links) }),
    ...(delays === undefined ? {} : { delays: delaysOf(delays, holds) }),
  };
}

type Links = NonNullable<LiveNetwork['links']>;

function linksOf(links: Links, holds: Holds): Capabilities['links'] {
  const cuts = new Together((pairs: readonly Pair[]) => links.cut(pairs));
  const mends = new Together((pairs: readonly Pair[]) => links.mend(pairs));
  return {
    cut(from, to) {
      let done: Promise<void> | undefined;
      holds.hold(`cut ${from}>${to}`, () => {
        done = cuts.add([from, to]);
      });
      return done;
    },
    mend(from, to) {
      let done: Promise<void> | undefined;
      holds.letGo(`cut ${from}>${to}`, () => {
        done = mends.add([from, to]);
      });
      return done;
    },
    setPacketLoss: (share) => links.setPacketLoss(share),
  };
}

function delaysOf(delays: LinkDelays, holds: Holds): Capabilities['delays'] {
  return {
    clog: (from, to, forMs) => delays.clog(from, to, forMs),
    slow: (latency) => delays.slow(latency),
    limit(from, to, bytesPerSecond) {
      let done: Done = undefined;
      holds.hold(`limit ${from}>${to}`, () => {
        done = delays.limit(from, to, bytesPerSecond);
      });
      return done;
    },
    unlimit(from, to) {
      let done: Done = undefined;
      holds.letGo(`limit ${from}>${to}`, () => {
        done = delays.limit(from, to, undefined);
      });
      return done;
    },
  };
}

function connectionsOf(links: Links): Capabilities['connections'] {
  return {
    reset: (one, other) => links.reset(one, other),
    setLoss: (chance) => links.setLoss(chance),
    // Who is connected does not dial.
    async setDials(mode, from, to) {
      await links.setDials(mode, from, to);
      if (mode !== 'normal') await links.reset(from, to);
    },
  };
}
