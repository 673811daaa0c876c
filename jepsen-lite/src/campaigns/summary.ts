/** What a campaign did, in numbers: a green run that did nothing must not look like one that did. */

import { NEMESES } from '../nemeses/index.ts';
import type { Effect } from '../nemeses/target.ts';
import { FREQUENT_MARKS, MARKS, type MarkName } from '../targets/sim/marks/mark.ts';
import { NOT_SIMULATED } from '../targets/sim/sim-target.ts';
import { checkersOf } from '../workloads/index.ts';
import type { SeedReport } from './seed-report.ts';

const MS_PER_HOUR = 3_600_000;

const SEEDS_TO_MEET_ALL = 300;
/** Every coverage mark was hit by then; the frequent ones before. */
const SEEDS_TO_HIT_ALL_MARKS = 2_000;
const MARK_NAMES = Object.keys(MARKS) as readonly MarkName[];

/** What a simulated world can suffer. */
const SIMULATED = NEMESES.filter(({ needs }) => !NOT_SIMULATED.some((name) => needs.includes(name)));
/** By which each nemesis is known to have struck. */
const EFFECTS: readonly string[] = [...new Set(SIMULATED.flatMap(({ strikes }) => strikes))];

/** That the fence had something to refuse, that the control without a fence went wrong, that sessions ended and queues moved on. */
const MUST_BE_COUNTED = [
  'fence.stale',
  'unfenced.staleWrites',
  'unfenced.lostUpdates',
  'owners.endedSessions',
  'order.grantsWithWaiters',
  'exclusion.beliefOverlaps',
  'ghosts.failed',
  'registers.operations',
  'linearizable-locks.heldStatuses',
  'list-append.readToTheEnd',
  'exactly-once.listedToTheEnd',
  'waits.served',
  'transactions.audits',
  'transactions.entries',
  'ttl-nodes.overAnElection',
  'ttl-nodes.seenUnused',
  'containers.goneUnderAChild',
  'containers.seenEmpty',
];

const MUST_HAPPEN = [
  'snapshotsTaken',
  'snapshotsInstalled',
  'transfers',
  'quorumsLost',
  'disksHung',
  'batchesComplete',
  'batchesLate',
  'changesMade',
  'changesRefused',
  'serversJoined',
  'serversRemoved',
] as const;

export class CampaignSummary {
  #seeds = 0;
  #simulatedMs = 0;
  readonly #sums = new Map<string, number>();
  readonly #begun = new Map<string, number>(SIMULATED.map(({ kind }) => [kind, 0]));
  readonly #struck = new Map<string, number>();
  readonly #checked = new Map<string, number>();
  readonly #unknown = new Map<string, number>();
  readonly #idle = new Map<string, number>();
  readonly #marks = new Map<MarkName, { count: number; seeds: number }>();
  readonly #mustBeCounted: readonly string[];
  readonly failures: SeedReport[] = [];

  /** `workloads`: what all clients do. @default as drawn */
  constructor(workloads?: readonly string[]) {
    const checkers = workloads === undefined ? undefined : checkersOf([{ workloads }]);
    const isJudged = (count: string): boolean => checkers?.some((name) => count.startsWith(`${name}.`)) ?? true;
    this.#mustBeCounted = MUST_BE_COUNTED.filter(isJudged);
  }

  add(report: SeedReport): void {
    this.#seeds += 1;
    this.#simulatedMs += report.simulatedMs;
    const { commands, elections, entries, repeatedAnswers, snapshotsTaken, snapshotsInstalled, transfers } = report;
    const snapshots = { snapshotsTaken, snapshotsInstalled };
    const sums = {
      commands,
      elections,
      entries,
      repeatedAnswers,
      ...snapshots,
      transfers,
      ...report.leadership,
      ...report.batches,
      ...report.members,
    };
    for (const [name, count] of Object.entries(sums)) {
      increase(this.#sums, name, count);
    }
    for (const [name, count] of Object.entries(report.begun)) increase(this.#begun, name, count);
    for (const [name, count] of Object.entries(report.struck)) increase(this.#struck, name, count);
    for (const [name, count] of Object.entries(report.checked)) increase(this.#checked, name, count);
    for (const name of MARK_NAMES) this.#addMark(name, report.marks[name] ?? 0);
    for (const name of report.unknown) increase(this.#unknown, name, 1);
    for (const kind of report.idle) increase(this.#idle, kind, 1);
    if (report.failure !== undefined) this.failures.push(report);
  }

  get simulatedHours(): number {
    return this.#simulatedMs / MS_PER_HOUR;
  }

  /** What a campaign of this length must have met, and has not: then its verdict tells less than it seems to. */
  get missed(): string[] {
    if (this.#seeds < SEEDS_TO_MEET_ALL) return [];
    const begun = SIMULATED.flatMap(({ kind }) => (this.#begun.get(kind) === 0 ? `the nemesis ${kind}` : []));
    const effects = EFFECTS.filter((effect) => (this.#struck.get(effect) ?? 0) === 0);
    const counts = this.#mustBeCounted.filter((name) => (this.#checked.get(name) ?? 0) === 0);
    const sums = MUST_HAPPEN.filter((name) => (this.#sums.get(name) ?? 0) === 0);
    const expected: readonly MarkName[] = this.#seeds < SEEDS_TO_HIT_ALL_MARKS ? FREQUENT_MARKS : MARK_NAMES;
    const marks = expected.filter((name) => !this.#marks.has(name));
    return [...begun, ...effects, ...counts, ...sums, ...marks];
  }

  #addMark(name: MarkName, count: number): void {
    if (count === 0) return;
    const before = this.#marks.get(name) ?? { count: 0, seeds: 0 };
    this.#marks.set(name, { count: before.count + count, seeds: before.seeds + 1 });
  }

  #markLines(): string[] {
    const rows = MARK_NAMES.map((name) => ({ name, ...(this.#marks.get(name) ?? { count: 0, seeds: 0 }) }));
    const width = Math.max(...rows.map(({ name }) => name.length));
    return rows.map(
      ({ name, count, seeds }) => `  ${name.padEnd(width)}  ${String(count).padStart(6)}  ${String(seeds).padStart(6)}`,
    );
  }

  text({ wallMs, threads }: { readonly wallMs: number; readonly threads: number }): string {
    const wallMinutes = wallMs / 60_000;
    const hours = this.simulatedHours;
    const seconds = this.#simulatedMs / 1_000;
    const of = (name: string): number => this.#sums.get(name) ?? 0;
    const struck = (effect: Effect): number => this.#struck.get(effect) ?? 0;
    const lines = [
      `${this.#seeds} seeds, ${this.failures.length} failed`,
      `${hours.toFixed(2)} simulated hours in ${wallMinutes.toFixed(1)} minutes on ${threads} threads: ` +
        `${(hours / wallMinutes).toFixed(1)} hours a minute, ${(hours / wallMinutes / threads).toFixed(1)} on each`,
      `${of('commands')} client commands (${(of('commands') / seconds).toFixed(1)} a simulated second), ` +
        `${of('entries')} entries, ${of('elections')} elections, ${of('repeatedAnswers')} answers from memory`,
      `${of('snapshotsTaken')} snapshots taken, ${of('snapshotsInstalled')} installed`,
      `${of('quorumsLost')} leaders stepped down since they heard no quorum, ${of('disksHung')} since their disk hung; ` +
        `${of('deferredCommits')} commits were made by followers from whom they had been kept`,
      `${of('transfers')} leaders stopped while nothing else was wrong, each followed by whom it asked`,
      `${of('proposalsBatched')} proposals waited for clients that had just been answered: ` +
        `${of('batchesComplete')} times until all had come, ${of('batchesLate')} times until it was too late`,
      `${of('changesBegun')} changes of the members asked for, ${of('changesMade')} made, ${of('changesRefused')} refused; ` +
        `${of('serversJoined')} servers joined, ${of('serversRemoved')} removed, ` +
        `${struck('lost-disk-refused')} refused on an empty disk`,
      `${struck('stranger-connected')} connections of strangers, ${struck('stranger-refused')} closed unheard; ` +
        `${struck('port-taken')} ports of servers taken, ${struck('server-misled')} servers misled there, ${struck('expulsion-forged')} expulsions forged`,
      `${struck('request-replayed')} requests replayed, ${struck('replayer-dropped')} clients dropped for one without a number`,
      'faults that were begun:',
      ...table(this.#begun),
      'what of them took effect:',
      ...table(this.#struck),
      'what the checkers counted:',
      ...table(this.#checked),
      'marks that were hit: how often, and in how many seeds:',
      ...this.#markLines(),
    ];
    if (this.#idle.size > 0) lines.push('runs in which a nemesis was scheduled and did nothing:', ...table(this.#idle));
    if (this.#unknown.size > 0) lines.push('runs in which a checker had nothing to judge:', ...table(this.#unknown));
    return lines.join('\n');
  }
}

function increase(sums: Map<string, number>, name: string, by: number): void {
  sums.set(name, (sums.get(name) ?? 0) + by);
}

function table(counts: ReadonlyMap<string, number>): string[] {
  const width = Math.max(0, ...[...counts.keys()].map((name) => name.length));
  return [...counts].map(([name, count]) => `  ${name.padEnd(width)}  ${count}`);
}
