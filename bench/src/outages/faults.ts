/** What strikes a system: each fault lasts for a while, then what it took is given back. */

import type { Hosts } from '../systems/hosts.ts';
import type { RunningSystem } from '../systems/system.ts';

interface Struck {
  /** The target of the fault, counted from 0. */
  readonly server: number;
  /** Gives back what the fault took. @throws Error when the fault had no effect */
  heal(): Promise<void>;
}

export interface Fault {
  readonly name: string;
  readonly needsHosts: boolean;
  strike(system: RunningSystem, hosts: Hosts): Promise<Struck>;
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9 of the leader',
    needsHosts: false,
    strike: async (system) => await kill(system, await system.leader()),
  },
  {
    name: 'SIGSTOP of the leader',
    needsHosts: false,
    async strike(system) {
      const server = await system.leader();
      const pid = system.pid(server);
      process.kill(pid, 'SIGSTOP');
      return {
        server,
        heal: () => {
          process.kill(pid, 'SIGCONT');
          return Promise.resolve();
        },
      };
    },
  },
  {
    name: 'kill -9 of a follower',
    needsHosts: false,
    strike: async (system) => await kill(system, ((await system.leader()) + 1) % system.addresses.length),
  },
  {
    name: 'the leader cut off from the others',
    needsHosts: true,
    async strike(system, hosts) {
      const server = await system.leader();
      hosts.isolate?.(server);
      return {
        server,
        heal: () => {
          if (hosts.mend(server) > 0) return Promise.resolve();
          throw new Error(`${system.name}: not one packet was dropped between server ${server + 1} and the others`);
        },
      };
    },
  },
];

/** A killed server is started again on what it has. */
async function kill(system: RunningSystem, server: number): Promise<Struck> {
  process.kill(system.pid(server), 'SIGKILL');
  await system.noteKilled(server);
  return {
    server,
    heal: () => {
      system.launchServer(server);
      return Promise.resolve();
    },
  };
}
