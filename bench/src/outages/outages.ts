/**
 * The longest time without service, of each client, for each fault: clients that take and give back a lock of their own through their
 * system's own client library, all servers known to them; the same faults strike each system by turns.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { Outages } from '../generator/outage-clients.ts';
import { isDisturbed, machineTime, secondsOfOthers } from '../machine/processor-time.ts';
import { GeneratorProcess } from '../systems/generator-process.ts';
import { LOOPBACK, type Hosts } from '../systems/hosts.ts';
import { namespaces, namespacesMissing } from '../systems/namespaces.ts';
import type { RunningSystem } from '../systems/system.ts';
import type { Candidate } from './candidates.ts';
import { FAULTS, type Fault } from './faults.ts';

const SERVERS = 3;
const BEFORE_MS = 1_000;
const FAULT_MS = 5_000;
/** After healing, too, service may fail: a server that comes back can disturb the others. */
const AFTER_MS = 3_000;
/** The next leader shall be one that leads in a steady state. */
const STEADY_MS = 2_000;
const SERVED_LIMIT_MS = 60_000;
const POLL_MS = 100;

export interface OutageOptions {
  readonly clients: number;
  readonly rounds: number;
  /** New, for data and logs. */
  readonly directory: string;
  say(line: string): void;
}

/** One strike of one fault at one system. */
export interface Strike {
  readonly label: string;
  readonly fault: string;
  readonly round: number;
  /** Of each client, in milliseconds. */
  readonly longestMs: readonly number[];
  readonly sessionsLost: number;
  /** Cores that processes took which are no part of the benchmark. */
  readonly otherCores: number;
  readonly disturbed: boolean;
}

export interface OutageResults {
  readonly strikes: readonly Strike[];
  /** Why no host could be cut off; undefined where they could. */
  readonly withoutHosts: string | undefined;
}

interface Stand {
  readonly candidate: Candidate;
  readonly system: RunningSystem;
  readonly hosts: Hosts;
}

export async function measureOutages(candidates: readonly Candidate[], options: OutageOptions): Promise<OutageResults> {
  const withoutHosts = namespacesMissing();
  const stands: Stand[] = [];
  const places: Hosts[] = [];
  const strikes: Strike[] = [];
  try {
    for (const [n, candidate] of candidates.entries()) {
      const hosts = withoutHosts === undefined ? namespaces(n, SERVERS) : LOOPBACK;
      places.push(hosts);
      const home = join(options.directory, `outages-${n + 1}-${candidate.system.name}`);
      mkdirSync(home, { recursive: true });
      stands.push({ candidate, system: await candidate.system.start(home, hosts), hosts });
    }
    for (let round = 1; round <= options.rounds; round += 1) {
      // Each round begins with another system.
      const shift = (round - 1) % stands.length;
      const turns = [...stands.slice(shift), ...stands.slice(0, shift)];
      for (const stand of turns) strikes.push(...(await strikeAll(stand, stands, round, options)));
    }
    return { strikes, withoutHosts };
  } finally {
    await Promise.all(stands.map(({ system }) => system.stop()));
    for (const hosts of places) hosts.close();
  }
}

async function strikeAll(
  stand: Stand,
  all: readonly Stand[],
  round: number,
  options: OutageOptions,
): Promise<Strike[]> {
  const { candidate, system, hosts } = stand;
  const generator = await GeneratorProcess.start({
    system: system.name,
    route: candidate.route,
    work: 'outages',
    sessions: options.clients,
    servers: system.addresses,
    prefix: `outages-${round}`,
    sessionTimeoutMs: candidate.sessionTimeoutMs,
  });
  try {
    const strikes: Strike[] = [];
    for (const fault of FAULTS) {
      if (fault.needsHosts && hosts.isolate === undefined) continue;
      const pids = (): Set<number> =>
        new Set([process.pid, generator.pid, ...all.flatMap(({ system: each }) => each.pids())]);
      const before = machineTime();
      const own = pids();
      const begun = performance.now();
      const { longestMs, sessionsLost } = await strike(stand, generator, fault);
      const seconds = (performance.now() - begun) / 1_000;
      const others = secondsOfOthers(before, machineTime(), new Set([...own, ...pids()]));
      const { label } = candidate;
      const noise = { otherCores: others / seconds, disturbed: isDisturbed(others, seconds) };
      strikes.push({ label, fault: fault.name, round, longestMs, sessionsLost, ...noise });
      options.say(`round ${round}: ${label}, ${fault.name}: the worst client ${Math.max(...longestMs)} ms`);
    }
    return strikes;
  } finally {
    await generator.stop();
  }
}

async function strike(
  { system, hosts, candidate }: Stand,
  generator: GeneratorProcess,
  fault: Fault,
): Promise<Outages> {
  await everyoneServed(generator, candidate.label);
  await pause(STEADY_MS);
  await generator.order({ type: 'mark' });
  await pause(BEFORE_MS);
  const struck = await fault.strike(system, hosts);
  await pause(FAULT_MS);
  await struck.heal();
  const healedAt = performance.now();
  while (!(await system.serves(struck.server))) {
    if (performance.now() - healedAt > SERVED_LIMIT_MS)
      throw new Error(`${candidate.label}: a server did not come back`);
    await pause(POLL_MS);
  }
  await pause(AFTER_MS);
  return await everyoneServed(generator, candidate.label);
}

/** Until each client has done a cycle that began after this was called. */
async function everyoneServed(generator: GeneratorProcess, label: string): Promise<Outages> {
  let { served, ...rest } = await generator.order<Outages>({ type: 'renew' });
  const since = performance.now();
  while (served < rest.longestMs.length) {
    if (performance.now() - since > SERVED_LIMIT_MS) {
      throw new Error(
        `${label}: ${rest.longestMs.length - served} clients were not served within ${SERVED_LIMIT_MS} ms`,
      );
    }
    await pause(POLL_MS);
    ({ served, ...rest } = await generator.order<Outages>({ type: 'outages' }));
  }
  return { served, ...rest };
}
