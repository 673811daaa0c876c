/**
 * Draws what operators do about the members in a run, and faults that strike while they do it: servers join, are promoted, are
 * removed, be they the leader or the founders, and come back without their disk. From a stream of its own: it shifts no other draw.
 */

import type { Random } from '@holdfast/runtime';
import { between } from '../../plan/choices.ts';
import { LEADER, serverHost, serverIds } from '../../plan/plan.ts';
import type { Fault, MemberFault } from '../../nemeses/index.ts';
import type { Draft } from './draft.ts';

/** One run in so many: each server more costs time. */
const ONE_IN = 10;
const FIRST_STEP_MS = 1_500;
/** Before the last of them is drawn, which may be three. */
const MAX_STEPS = 10;
const MAX_VOTERS = 5;
const MAX_OBSERVERS = 2;
/** A new server starts so much later than it is added, at most. */
const MAX_START_MS = 3_000;
/** A fault begins so much before a step, or after it, at most. */
const NEAR_MS = 1_200;

/** With changes of the members in it; most are drawn none, and stay as they are. */
export function withMembers(scenario: Draft, random: Random): Draft {
  if (random.integer(ONE_IN) > 0) return scenario;
  const draw = new MembersDraw(random, scenario);
  const members = draw.steps();
  // Who has lost what it acknowledged may be needed for every decision of a cluster that has become smaller.
  const others = scenario.faults.filter(({ kind }) => kind !== 'bit-flip');
  const faults = [...others, ...draw.faults(members)].toSorted((a, b) => a.atMs - b.atMs);
  return { ...scenario, members, faults };
}

class MembersDraw {
  readonly #random: Random;
  readonly #scenario: Draft;
  /** As planned; leaders that are removed are counted, whoever they will be. */
  #voters: number[];
  #observers: number[] = [];
  #used: number[] = [];
  #next: number;
  #lostDisk = false;
  #atMs = FIRST_STEP_MS;

  constructor(random: Random, scenario: Draft) {
    this.#random = random;
    this.#scenario = scenario;
    this.#voters = serverIds(scenario);
    this.#next = scenario.servers + 1;
  }

  steps(): MemberFault[] {
    const random = this.#random;
    const gapMs = between(random, 200, 4_000);
    const steps: MemberFault[] = random.integer(4) === 0 ? this.#thereAndBack(gapMs) : [];
    while (this.#atMs < this.#scenario.durationMs && steps.length < MAX_STEPS) steps.push(...this.#draw(gapMs));
    return steps;
  }

  /** One or two more voters, then as many fewer. */
  #thereAndBack(gapMs: number): MemberFault[] {
    const count = between(this.#random, 1, 2);
    const steps = Array.from({ length: count }, () => this.#add(false, gapMs));
    return [...steps, ...Array.from({ length: count }, () => this.#remove(gapMs))];
  }

  #draw(gapMs: number): MemberFault[] {
    const random = this.#random;
    switch (random.integer(8)) {
      case 0:
      case 1:
        return this.#voters.length < MAX_VOTERS ? [this.#add(false, gapMs)] : [this.#remove(gapMs)];
      case 2:
        return this.#observers.length < MAX_OBSERVERS ? [this.#add(true, gapMs)] : [this.#promote(gapMs)];
      case 3:
        return this.#observers.length > 0 ? [this.#promote(gapMs)] : [this.#add(true, gapMs)];
      case 4:
        return this.#lostDisk || this.#voters.length < 3 ? [] : this.#loseDisk(gapMs);
      case 5: {
        // Its number is gone.
        const used = this.#used[random.integer(this.#used.length + 1)];
        return [used === undefined ? this.#remove(gapMs) : this.#addAs(used, false, gapMs)];
      }
      default:
        return [this.#voters.length > 2 || random.integer(3) === 0 ? this.#remove(gapMs) : this.#add(false, gapMs)];
    }
  }

  #add(observer: boolean, gapMs: number): MemberFault {
    const server = this.#next;
    this.#next += 1;
    (observer ? this.#observers : this.#voters).push(server);
    return this.#addAs(server, observer, gapMs);
  }

  #addAs(server: number, observer: boolean, gapMs: number): MemberFault {
    const startAfterMs = this.#random.integer(3) > 0 ? 0 : this.#random.integer(MAX_START_MS);
    return { kind: 'add-member', atMs: this.#time(gapMs), server, observer, startAfterMs };
  }

  #promote(gapMs: number): MemberFault {
    const server = takeOne(this.#random, this.#observers) ?? this.#next - 1;
    this.#voters.push(server);
    return { kind: 'promote-member', atMs: this.#time(gapMs), server };
  }

  #remove(gapMs: number): MemberFault {
    const random = this.#random;
    const atMs = this.#time(gapMs);
    const server = takeOne(random, this.#voters) ?? 1;
    if (random.integer(3) === 0) return { kind: 'remove-member', atMs, server: LEADER };
    this.#used.push(server);
    return { kind: 'remove-member', atMs, server };
  }

  /** A machine gets an empty disk; most are replaced in the end, by a new server under a new number. */
  #loseDisk(gapMs: number): MemberFault[] {
    this.#lostDisk = true;
    const server = this.#random.integer(this.#scenario.servers) + 1;
    const lose: MemberFault = { kind: 'lose-disk', atMs: this.#time(gapMs), server };
    if (this.#random.integer(4) === 0) return [lose];
    this.#voters = this.#voters.filter((voter) => voter !== server);
    this.#used.push(server);
    return [lose, { kind: 'remove-member', atMs: this.#time(gapMs), server }, this.#add(false, gapMs)];
  }

  #time(gapMs: number): number {
    const atMs = this.#atMs;
    this.#atMs += 1 + this.#random.integer(2 * gapMs);
    return atMs;
  }

  faults(steps: readonly MemberFault[]): Fault[] {
    return steps.flatMap((step) => (this.#random.integer(2) === 0 ? [] : this.#faultNear(step)));
  }

  #faultNear({ atMs: stepMs, server }: MemberFault): Fault[] {
    const random = this.#random;
    const atMs = Math.max(FIRST_STEP_MS, stepMs - NEAR_MS / 2 + random.integer(NEAR_MS));
    const forMs = between(random, 100, 4_000);
    const host = server === LEADER || random.integer(2) === 0 ? LEADER : serverHost(server);
    const other = host === LEADER ? serverHost(between(random, 1, this.#scenario.servers)) : LEADER;
    switch (random.integer(6)) {
      case 0:
        return [{ kind: 'crash', atMs, forMs, hosts: [host], tear: 'random' }];
      case 1:
        return [{ kind: 'kill', atMs, forMs, hosts: [host] }];
      case 2:
        return [{ kind: 'pause', atMs, forMs, host }];
      case 3:
        return [{ kind: 'cut', atMs, forMs, from: host, to: other }];
      case 4:
        return [{ kind: 'stop', atMs, forMs, host }];
      default:
        return [{ kind: 'partition', atMs, forMs, groups: [[host], this.#allBut(host)] }];
    }
  }

  #allBut(host: string): string[] {
    const all = Array.from({ length: this.#next - 1 }, (_, n) => serverHost(n + 1));
    return all.filter((name) => name !== host);
  }
}

/** Undefined when there is none. */
function takeOne(random: Random, list: number[]): number | undefined {
  return list.splice(random.integer(Math.max(1, list.length)), 1)[0];
}
