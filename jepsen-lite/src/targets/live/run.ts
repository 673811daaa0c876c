/** Runs one scenario on real processes to its end and judges it. Everything that it started has ended when it resolves. */

import { cpSync, lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Verdict } from '../../checkers/verdict.ts';
import type { Violation } from '../../checkers/violation.ts';
import type { HistoryEvent } from '../../history/history.ts';
import { anyNeeds } from '../../nemeses/index.ts';
import type { CapabilityName, Effect } from '../../nemeses/target.ts';
import { replicaHosts, serverHost, serverIds, STORE_HOST } from '../../plan/plan.ts';
import { joiningIds, type Scenario } from '../../scenario/scenario.ts';
import { checkersOf } from '../../workloads/index.ts';
import { judge, runOn } from '../phases.ts';
import { EffectCounts } from '../effects.ts';
import { allOf, withinLimit } from '../hang.ts';
import { openHardware, type Hardware } from './hardware/hardware.ts';
import { EndSignals, INTERRUPTED } from './end-signals.ts';
import { LiveTarget, type LiveTargetOptions } from './live-target.ts';
import { consultLog, type OracleReport } from './oracle/oracle.ts';
import { CANARY_PORT } from './network/canary.ts';
import type { LiveNetwork } from './network/live-network.ts';
import { loopback } from './network/loopback.ts';
import { proxied } from './network/proxy/proxied-network.ts';
import { namespaces, namespacesMissing } from './network/namespaces.ts';
import { goAhead } from './processes/priority.ts';
import { CLIENT_PORT, PEER_PORT, REPLICA_PORT, STORE_PORT } from './processes/programs.ts';
import type { Scraped } from './processes/scrape.ts';
import { StillnessWatch } from './stillness/stillness-watch.ts';

export interface LiveOptions {
  /** Where logs and data directories go: one that is empty, or new. */
  readonly directory: string;
  /** For servers, store and clients. @default nothing */
  readonly environment?: NodeJS.ProcessEnv;
  /** Within which every client must work again on the healed system. @default 10,000 */
  readonly recoveryMs?: number;
  /** Within which each step of healing must have ended. @default 90,000 */
  readonly healStepMs?: number;
  /** No namespaces, even where this machine has them. @default false */
  readonly loopback?: boolean;
  /** Told of the first thing that is wrong as soon as it is known: a long run may end before anybody asks for its result. */
  readonly failed?: (violation: Violation) => void;
  /** Told of what clients did before it is judged, which may take long. */
  readonly recorded?: (history: readonly HistoryEvent[]) => void;
}

export interface LiveResult {
  readonly scenario: Scenario;
  /** The first thing that was wrong. */
  readonly failure: Violation | undefined;
  readonly history: readonly HistoryEvent[];
  readonly verdicts: readonly Verdict[];
  readonly begun: ReadonlyMap<string, number>;
  readonly leftOut: ReadonlyMap<string, readonly CapabilityName[]>;
  readonly idle: readonly string[];
  readonly struck: ReadonlyMap<Effect, number>;
  readonly scraped: Scraped;
  /** What the servers' logs say of it; undefined: they could not be read, which is the failure if there was none before. */
  readonly log: OracleReport | undefined;
  readonly wallMs: number;
  /** Why its hosts have no namespaces of their own, so that their links are those of proxies; undefined: they have. */
  readonly onLoopback: string | undefined;
}

export async function runLive(scenario: Scenario, options: LiveOptions): Promise<LiveResult> {
  const effects = new EffectCounts();
  const signals = new EndSignals();
  const beAsBefore = goAhead();
  try {
    return await runOnMachines(scenario, { ...options, effects, signals });
  } finally {
    beAsBefore();
    signals.close();
  }
}

interface Ordered extends LiveOptions {
  readonly effects: EffectCounts;
  readonly signals: EndSignals;
}

/** What it makes of networks and disks is gone when it resolves. */
async function runOnMachines(scenario: Scenario, options: Ordered): Promise<LiveResult> {
  const { directory, effects, signals } = options;
  const { network, onLoopback } = await makeNetwork(scenario, options);
  let hardware: Hardware;
  try {
    hardware = await openHardware(scenario, directory, effects);
  } catch (error) {
    network.close();
    throw error;
  }
  let result: Omit<LiveResult, 'onLoopback'> | undefined;
  let problem: string | undefined;
  try {
    result = await runWith(scenario, { ...options, scenario, network, hardware }, signals);
  } finally {
    problem = await allOf(
      [
        { what: 'the removal of the disks', act: () => hardware.close() },
        { what: 'the removal of the network', act: () => network.close() },
      ],
      CLEARING_MS,
    );
    // Of a run that has no result somebody has to hear of it, too.
    if (problem !== undefined) process.stderr.write(`what the harness made is not gone in order: ${problem}\n`);
  }
  const left = problem === undefined ? undefined : { name: 'what-was-made-is-removed', message: problem };
  const failure = result.failure ?? left ?? (signals.heard ? INTERRUPTED : undefined);
  return { ...result, failure, onLoopback };
}

/** Every process has ended when it resolves. */
async function runWith(
  scenario: Scenario,
  options: LiveTargetOptions & Pick<LiveOptions, 'recorded'>,
  signals: EndSignals,
): Promise<Omit<LiveResult, 'onLoopback'>> {
  const startedAt = performance.now();
  const { directory } = options;
  const stood = (seconds: number): void =>
    target.fail('the-harness-goes-on', `it stood still for ${seconds} s, until its disks were thawed by force`);
  const watch = new StillnessWatch(tmpdir(), { stood });
  const target = new LiveTarget({ ...options, entering: (step) => watch.enter(step) });
  signals.tell(() => target.fail(INTERRUPTED.name, INTERRUPTED.message));
  let struck: ReadonlyMap<Effect, number>;
  let held: string | undefined;
  let outcome: Awaited<ReturnType<typeof runOn>>;
  try {
    outcome = await runOn(target, scenario);
    struck = target.struck;
  } finally {
    // Neither who ends nor who reads what was left may wait for what a fault still holds.
    const disks = [...options.hardware.volumes.values()];
    held = await allOf(
      disks.map((disk) => ({ what: `letting go of the disk ${disk.name}`, act: () => disk.letGo() })),
      CLEARING_MS,
    );
    if (held !== undefined) target.fail('disks-are-let-go-of', held);
    await withinLimit('the end of all processes', ENDS_MS, () => target.close()).catch((error: unknown) =>
      target.failed(error),
    );
  }
  const { begun, leftOut, idle } = outcome;
  if (idle.length > 0) {
    const kinds = idle.join(', ');
    const logs = join(directory, 'logs');
    target.fail('every-nemesis-strikes', `scheduled, and nothing was seen of it: ${kinds} (see ${logs})`);
  }
  options.recorded?.(target.history);
  // Nothing is left to thaw. What judges a long run may keep the thread for minutes, which is no hang.
  if (held === undefined) await watch.close();
  const verdicts = judge(target, scenario);
  const log = held === undefined ? await consult(target, scenario) : undefined;
  if (log?.violation !== undefined) target.fail(log.violation.name, log.violation.message);
  if (target.violation !== undefined) keepData(options);
  await watch.close();
  const { scraped, violation: failure } = target;
  return {
    scenario,
    failure,
    history: log?.history ?? target.history,
    verdicts: log?.verdicts ?? verdicts,
    begun,
    leftOut,
    idle,
    struck,
    scraped,
    log,
    wallMs: performance.now() - startedAt,
  };
}

/** Disks of their own go with the run; what shows a failure is kept. */
function keepData({ directory, hardware }: LiveTargetOptions): void {
  for (const [host, { path }] of hardware.volumes) {
    try {
      cpSync(join(path, 'data'), join(directory, 'data', host), { recursive: true, filter: (file) => !isSocket(file) });
    } catch (error) {
      // Of a disk that its last fault has left unreadable nothing can be kept.
      process.stderr.write(`the data of ${host} cannot be kept: ${(error as Error).message}\n`);
    }
  }
}

function isSocket(file: string): boolean {
  return lstatSync(file).isSocket();
}

/** Undefined when the logs cannot be read: the run's failure, unless something was wrong before. */
async function consult(target: LiveTarget, scenario: Scenario): Promise<OracleReport | undefined> {
  const hosts = serverIds(scenario).map(serverHost);
  try {
    return await consultLog(target.history, {
      ...target.logs,
      founders: hosts,
      committedSeen: target.committedSeen,
      checkers: checkersOf(scenario.clients),
    });
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    target.fail('log: it can be read', what);
    return undefined;
  }
}

/** Clients first, then servers and store: each is asked, and killed when it does not heed that. */
const ENDS_MS = 120_000;
/** For all disks of a run together. */
const CLEARING_MS = 600_000;

async function makeNetwork(
  scenario: Scenario,
  options: LiveOptions,
): Promise<{ readonly network: LiveNetwork; readonly onLoopback: string | undefined }> {
  const servers = [...serverIds(scenario), ...joiningIds(scenario)].map(serverHost);
  const hosts = [...servers, STORE_HOST, ...replicaHosts(scenario), ...scenario.clients.map(({ name }) => name)];
  const ofReplicas = scenario.replicas === undefined ? [] : [REPLICA_PORT];
  const ports = [CLIENT_PORT, PEER_PORT, STORE_PORT, ...ofReplicas, CANARY_PORT];
  const onLoopback = options.loopback === true ? 'it was asked for' : namespacesMissing();
  const network = onLoopback === undefined ? namespaces(hosts) : await loopback(hosts, ports);
  // What a namespace has anyway needs no proxies: they cost every byte that passes them a way through a process.
  const needed: readonly CapabilityName[] = onLoopback === undefined ? ['delays'] : ['links', 'connections', 'delays'];
  const isStruck = needed.some((capability) => anyNeeds(scenario.faults, capability));
  return { network: isStruck ? await proxied(network, hosts, ports) : network, onLoopback };
}
