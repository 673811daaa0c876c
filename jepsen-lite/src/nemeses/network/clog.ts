/** What is sent one way waits and then arrives in order: of one link, or of all links of some hosts, one after another. */

import { link } from '../../plan/fields.ts';
import { isBetweenTwo, nemesis } from '../nemesis.ts';

export const clog = nemesis({
  kind: 'clog',
  lasts: true,
  fields: link,
  needs: ['delays'],
  oneIn: 4,
  strikes: ['frame-held-by-clog'],
  /** One link clogs; or the links of some hosts do, and come free again in another order. */
  draw({ random, servers, clients, lasting: { atMs, forMs }, anyLink }) {
    if (random.integer(2) === 0) {
      const [from, to] = anyLink();
      return [{ kind: 'clog', atMs, forMs, from, to }];
    }
    const hosts = [...servers, ...clients].filter(() => random.integer(2) === 0);
    return hosts.flatMap((host) => {
      const begins = random.integer(Math.ceil(forMs / 2));
      const ends = Math.ceil(forMs / 2) + random.integer(Math.ceil(forMs / 2));
      const times = { kind: 'clog', atMs: atMs + begins, forMs: ends - begins } as const;
      return servers
        .filter((server) => server !== host)
        .flatMap((server) => [
          { ...times, from: host, to: server },
          { ...times, from: server, to: host },
        ]);
    });
  },
  possible: isBetweenTwo,
  begin: (fault, { delays }) => delays.clog(fault.from, fault.to, fault.forMs),
});
