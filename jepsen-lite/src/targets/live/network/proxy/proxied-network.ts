/**
 * A network whose hosts dial each other through proxies: one for each host that is a place of its own, one for all where they share one.
 * Its links can be slow and clogged. Where nothing else can cut and reset them, the proxies do that, too.
 */

import { each, type Capabilities, type Done, type Effect } from '../../../../nemeses/target.ts';
import { builtLiveFile } from '../../processes/built.ts';
import type { LinkDelays, LinkFaults, LiveNetwork, Pair } from '../live-network.ts';
import type { DialMode } from './link.ts';
import { DETOUR_VARIABLE, type DetourTable, type ProxyCommand } from './protocol.ts';
import { ProxyProcess } from './proxy-process.ts';

const PROXY_HOST = '127.0.0.1';
const DETOUR_OPTION = `--import=${builtLiveFile('network/proxy/detour.js').href}`;

/** `ports`: all that programs of the hosts listen at. */
export async function proxied(
  network: LiveNetwork,
  hosts: readonly string[],
  ports: readonly number[],
): Promise<LiveNetwork> {
  const isShared = hosts.every((host) => network.inside(host).length === 0);
  const places = isShared ? [''] : hosts;
  const proxies = new Map(places.map((place) => [place, new ProxyProcess(isShared ? [] : network.inside(place))]));
  const all = [...proxies.values()];
  const close = (): void => {
    for (const proxy of all) proxy.close();
    network.close();
  };
  let listening: ReadonlyMap<string, number>;
  try {
    const found = [...proxies].map(async ([place, proxy]) => [place, await proxy.port] as const);
    listening = new Map(await Promise.all(found));
  } catch (error) {
    close();
    throw error;
  }
  const tables = new Map(
    hosts.map((from) => {
      const addresses = hosts.flatMap((to) => ports.map((port) => [network.address(to, port), to] as const));
      const others = addresses.filter(([, to]) => to !== from);
      const port = listening.get(isShared ? '' : from) ?? 0;
      const table: DetourTable = { from, proxy: { host: PROXY_HOST, port }, hosts: Object.fromEntries(others) };
      return [from, JSON.stringify(table)] as const;
    }),
  );
  const faults = new ProxyFaults(all);
  return {
    address: (host, port) => network.address(host, port),
    inside: (host) => network.inside(host),
    environment(host, base) {
      const { NODE_OPTIONS } = base;
      const options = NODE_OPTIONS === undefined ? DETOUR_OPTION : `${NODE_OPTIONS} ${DETOUR_OPTION}`;
      return { ...network.environment(host, base), NODE_OPTIONS: options, [DETOUR_VARIABLE]: tables.get(host) };
    },
    links: network.links ?? faults,
    delays: faults,
    struck: () => sumOf([network.struck(), faults.struck()]),
    heal: () => each([network, faults], (one) => one.heal()),
    close,
  };
}

class ProxyFaults implements LinkFaults, LinkDelays {
  readonly #proxies: readonly ProxyProcess[];

  constructor(proxies: readonly ProxyProcess[]) {
    this.#proxies = proxies;
  }

  cut(pairs: readonly Pair[]): Done {
    return this.#tell({ act: 'cut', pairs });
  }

  mend(pairs: readonly Pair[]): Done {
    return this.#tell({ act: 'mend', pairs });
  }

  setPacketLoss(share: number): Done {
    return this.#tell({ act: 'drop', share });
  }

  reset(one: string, other: string): Done {
    return this.#tell({ act: 'reset', one, other });
  }

  setLoss(chance: number): Done {
    return this.#tell({ act: 'break', chance });
  }

  setDials(mode: DialMode, from: string, to: string): Done {
    return this.#tell({ act: 'dials', mode, from, to });
  }

  clog(from: string, to: string, forMs: number): Done {
    return this.#tell({ act: 'clog', from, to, forMs });
  }

  slow(latency: Parameters<Capabilities['delays']['slow']>[0]): Done {
    return this.#tell({ act: 'slow', latency });
  }

  limit(from: string, to: string, bytesPerSecond: number | undefined): Done {
    return this.#tell({ act: 'limit', from, to, bytesPerSecond });
  }

  heal(): Done {
    return this.#tell({ act: 'heal' });
  }

  struck(): ReadonlyMap<Effect, number> {
    return sumOf(this.#proxies.map(({ struck }) => struck));
  }

  #tell(command: ProxyCommand): Done {
    return each(this.#proxies, (proxy) => proxy.obey(command));
  }
}

function sumOf(counts: readonly ReadonlyMap<Effect, number>[]): ReadonlyMap<Effect, number> {
  const sum = new Map<Effect, number>();
  for (const [effect, count] of counts.flatMap((each) => [...each])) sum.set(effect, (sum.get(effect) ?? 0) + count);
  return sum;
}
