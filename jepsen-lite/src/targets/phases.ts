/**
 * A run of a scenario, phase by phase: servers and clients start, faults strike under load, everything heals, clients must work again
 * within a bound, and everybody stops. Then the recorded history is judged. The first thing that is wrong ends it. It speaks only to its
 * target, and knows neither whose time passes nor what the servers are.
 */

import { checkHistory } from '../checkers/check.ts';
import type { Verdict } from '../checkers/verdict.ts';
import type { Violation } from '../checkers/violation.ts';
import type { HistoryEvent, HistoryEventBody } from '../history/history.ts';
import { nemesisOf, type Fault } from '../nemeses/index.ts';
import { Inflictor } from '../nemeses/inflictor.ts';
import type { CapabilityName, Done, Target } from '../nemeses/target.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { checkersOf } from '../workloads/index.ts';
import { HangError } from './hang.ts';
import { MAX_SECOND_TURNS, secondTurns } from './second-turns.ts';

/** After everything has healed, until every client has had what it comes for again: sessions that were cut off have to expire first. */
export const RECOVERY_MS = 60_000;
/** After the clients were asked to stop, for each thing that must come to an end. */
export const QUIET_MS = 60_000;
const DEFAULT_BOUNDS: RunBounds = { recoveryMs: RECOVERY_MS, quietMs: QUIET_MS };
/** For what operators are at, before kinds of faults have another turn: it was to be disturbed by all of them, and takes its time. */
const COMMANDS_MS = 60_000;
/** For everybody to serve again before a kind of fault has another turn. */
const SERVING_MS = 20_000;
/** Of each client on the healed system, which prove that it works again. */
const ROUNDS_AFTER_HEALING = 2;

/** A client as its run sees it. */
export interface RunningClient {
  /** Tasks that had what they came for; undefined when what it does has no such thing. */
  readonly rounds: number | undefined;
  /** It has ended, and none of its calls is open. */
  readonly idle: boolean;
}

/** What the target's own time makes of the bounds. */
export interface RunBounds {
  /** {@link RECOVERY_MS} */
  readonly recoveryMs: number;
  /** {@link QUIET_MS} */
  readonly quietMs: number;
  /** After everything has healed, for each fault that was begun to have begun and ended. @default nobody asks: it takes no time */
  readonly faultsEndMs?: number;
  /** Until what a fault has brought about is known. @default 0 */
  readonly seenMs?: number;
}

/** A whole system under test. What it finds wrong at any time it reports by its `violation`. */
export interface RunTarget extends Target {
  readonly clients: readonly RunningClient[];
  /** The first thing that is wrong. */
  readonly violation: Violation | undefined;
  readonly history: readonly HistoryEvent[];
  /** @default those of the simulation */
  readonly bounds?: RunBounds;
  /** Every kind of the schedule is to strike: one that has done nothing has another turn. @default what has not struck has not */
  readonly mustStrike?: true;
  /** Times of what may strike before servers start count from when they have, but for 0. @default from before, all of them */
  readonly startTakesTime?: true;
  /** Whether everybody who is to run serves. @default they do, as far as anybody knows */
  serving?(): boolean;
  note(event: HistoryEventBody): void;
  /** Something is wrong; only the first counts. */
  fail(name: string, message: string): void;
  /** Servers, store and clients, but for what a fault keeps from starting. */
  start(): Done;
  /** Lets the target's time pass until the condition, or something is wrong. False when the time is over first. */
  runUntil(condition: () => boolean, maxMs: number): Promise<boolean>;
  /** Clients end what they are at and begin nothing new. */
  stopClients(): void;
  /** Right after everything has healed: a canary on every link. Fails the run when one does not carry. */
  canary(): Promise<void>;
  /** Clients work again and go on: what must have come to rest by now, and what must be survived under load. @default nothing */
  afterRecovery?(): Promise<void>;
  /** Clients have ended: what may be left, and what must be. @default nothing */
  afterQuiet?(): Promise<void>;
  /** How servers and clients are, for whoever reads a failure. */
  describe(): string;
}

interface Outcome {
  /** How many faults of each kind were begun. */
  readonly begun: ReadonlyMap<string, number>;
  /** Kinds that the target could not be made to suffer, with the capabilities that it lacks. */
  readonly leftOut: ReadonlyMap<string, readonly CapabilityName[]>;
  /** Kinds of faults that were scheduled and did nothing. */
  readonly idle: readonly string[];
}

/** What is wrong is the target's `violation` afterwards, whatever was thrown. */
export async function runOn(target: RunTarget, scenario: Scenario): Promise<Outcome> {
  const inflictor = new Inflictor(target);
  try {
    for (const phase of phases(target, scenario, inflictor)) {
      await phase();
      if (target.violation !== undefined) break;
    }
  } catch (error) {
    // A callback of the system threw, or a promise of it was rejected and nobody handled it.
    target.fail('no-unexpected-error', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const { begun, leftOut, idle } = inflictor;
  return { begun, leftOut, idle };
}

function phases(target: RunTarget, scenario: Scenario, inflictor: Inflictor): (() => Promise<void> | undefined)[] {
  return [
    () => load(target, scenario, inflictor),
    () => heal(target, inflictor),
    () => target.canary(),
    () => recover(target),
    () => target.afterRecovery?.(),
    () => fallQuiet(target),
    () => target.afterQuiet?.(),
  ];
}

async function load(target: RunTarget, { faults, durationMs }: Scenario, inflictor: Inflictor): Promise<void> {
  const isEarly = ({ kind, atMs }: Fault): boolean =>
    nemesisOf(kind)?.beforeServers === true && (target.startTakesTime !== true || atMs === 0);
  inflictor.schedule(faults.filter(isEarly));
  const started = target.start();
  // Nothing may happen in between where nothing takes time.
  if (started !== undefined) await started;
  target.note({ type: 'phase', phase: 'faults' });
  inflictor.schedule(faults.filter((fault) => !isEarly(fault)));
  await target.runUntil(() => false, durationMs);
  if (target.mustStrike === true) await strikeAgain(target, faults, inflictor);
}

/** The kinds that have done nothing so far. */
async function strikeAgain(target: RunTarget, faults: readonly Fault[], inflictor: Inflictor): Promise<void> {
  if (inflictor.idle.length === 0) return;
  await target.runUntil(() => inflictor.commandsUnderWay === 0, COMMANDS_MS);
  const { faultsEndMs = 0, seenMs = 0 } = target.bounds ?? DEFAULT_BOUNDS;
  let stuck = false;
  const untilAtRest = async (struck: () => boolean): Promise<void> => {
    // Not for ever: one that does not end is found when everything heals.
    if (!stuck) stuck = !(await target.runUntil(() => struck() || inflictor.lasting === 0, faultsEndMs));
  };
  for (const kind of inflictor.idle.slice(0, MAX_SECOND_TURNS)) {
    if (stuck && inflictor.lasting > 0) return;
    const struck = (): boolean => !inflictor.idle.includes(kind);
    for (const turn of secondTurns(kind, faults)) {
      await untilAtRest(struck);
      // Whoever is down can be struck by nothing.
      await target.runUntil(() => target.serving?.() ?? true, SERVING_MS);
      // Another turn may end the only process that could tell of the last one.
      await target.runUntil(struck, seenMs);
      if (target.violation !== undefined || struck()) break;
      inflictor.schedule(turn.faults);
      await target.runUntil(struck, turn.lastsMs);
      // A busy machine may need seconds for what the turn asked of it.
      await untilAtRest(struck);
    }
    await target.runUntil(struck, seenMs);
  }
}

async function heal(target: RunTarget, inflictor: Inflictor): Promise<void> {
  try {
    await inflictor.heal();
  } catch (error) {
    if (!(error instanceof HangError)) throw error;
    const open = inflictor.underWay.join(', ') || 'none';
    target.fail('healing-ends', `${error.message}; faults that have not ended by themselves: ${open}`);
    return;
  }
  const { faultsEndMs } = target.bounds ?? DEFAULT_BOUNDS;
  if (faultsEndMs !== undefined) await requireEnds(target, inflictor, faultsEndMs);
  target.note({ type: 'phase', phase: 'healed' });
}

async function requireEnds(target: RunTarget, inflictor: Inflictor, withinMs: number): Promise<void> {
  if (await target.runUntil(() => inflictor.underWay.length === 0, withinMs)) return;
  target.fail('every-fault-ends', `${withinMs} ms after everything has healed: ${inflictor.underWay.join(', ')}`);
}

async function recover(target: RunTarget): Promise<void> {
  const { clients } = target;
  const enough = clients.map(({ rounds = 0 }) => rounds + ROUNDS_AFTER_HEALING);
  // One that does nothing that has rounds cannot be asked for them.
  const works = (): boolean => clients.every(({ rounds = Infinity }, n) => rounds >= (enough[n] ?? Infinity));
  const { recoveryMs } = target.bounds ?? DEFAULT_BOUNDS;
  if (await target.runUntil(works, recoveryMs)) return;
  target.fail(
    'the-healed-cluster-works',
    `${recoveryMs} ms after the last fault some applications have not had their locks again: ${target.describe()}`,
  );
}

async function fallQuiet(target: RunTarget): Promise<void> {
  target.stopClients();
  target.note({ type: 'phase', phase: 'quiet' });
  const { clients } = target;
  const { quietMs } = target.bounds ?? DEFAULT_BOUNDS;
  if (await target.runUntil(() => clients.every(({ idle }) => idle), quietMs)) return;
  target.fail('every-call-ends', `calls are open ${quietMs} ms after everybody was to stop: ${target.describe()}`);
}

/**
 * What only the whole history shows, once the run is over. A verdict of 'unknown' had nothing to judge: the sums over many runs tell
 * whether that is rare. Empty when something was wrong before: a run that was cut short has calls without an end.
 */
export function judge(
  target: Pick<RunTarget, 'history' | 'violation' | 'fail'>,
  { clients }: Scenario,
): readonly Verdict[] {
  const { history } = target;
  if (target.violation !== undefined) return [];
  const verdicts = checkHistory(history, { checkers: checkersOf(clients) });
  const wrong = verdicts.find((verdict) => verdict.valid === false);
  const [first] = wrong?.broken ?? [];
  if (wrong !== undefined) {
    const witness = first?.events.map((seq) => JSON.stringify(history[seq - 1])) ?? [];
    target.fail(`history: ${wrong.checker}`, [first?.message, ...witness].join('\n  '));
  }
  return verdicts;
}
