/**
 * Inflicts a scenario's faults on a target: each begins and ends at its time, whatever others do meanwhile. A name that stands for
 * somebody (the leader, a holder) is looked up when the fault begins; one that stands for nobody then has nothing to strike. A fault for
 * which the target lacks a capability is left out, and counted as such; of the others it is known which did nothing.
 */

import { hostsIn, resolveHosts } from '../plan/fields.ts';
import { lacking, type CapabilityName, type Done, type Effect, type Target, type TargetWith } from './target.ts';
import { effectsOf, nemesisOf, type Fault } from './index.ts';
import type { FaultBase, Nemesis } from './nemesis.ts';

/** A name that stands for nobody at the moment. */
class NobodyError extends Error {}

/** For whom a name stands that stood for nobody. */
const LOOK_AGAIN_MS = 25;

type AnyFault = FaultBase & Readonly<Record<string, unknown>>;

export class Inflictor {
  readonly #target: Target;
  readonly #begun = new Map<string, number>();
  readonly #leftOut = new Map<string, readonly CapabilityName[]>();
  /** Of each kind that was scheduled; as far as effects were counted when it first began. */
  readonly #before = new Map<string, ReadonlyMap<Effect, number>>();
  /** By a number of each. */
  readonly #underWay = new Map<number, string>();
  #commands = 0;
  #lasting = 0;
  #asked = 0;
  #healed = false;

  constructor(target: Target) {
    this.#target = target;
  }

  /** How many faults of each kind were begun. */
  get begun(): ReadonlyMap<string, number> {
    return this.#begun;
  }

  /** The kinds that the target could not be made to suffer, with the capabilities that it lacks. */
  get leftOut(): ReadonlyMap<string, readonly CapabilityName[]> {
    return this.#leftOut;
  }

  /**
   * The kinds that were scheduled and have done nothing so far: none began, or nothing by which they are known to have struck was seen
   * since. An effect that several kinds have counts for each of them.
   */
  get idle(): string[] {
    const { struck } = this.#target;
    return [...this.#before].flatMap(([kind, before]) => {
      const rose = (effect: Effect): boolean => (struck.get(effect) ?? 0) > (before.get(effect) ?? 0);
      return this.#begun.has(kind) && effectsOf(kind).some(rose) ? [] : kind;
    });
  }

  /** What was asked of the target for faults and is not done yet, but for what goes on when everything has healed. */
  get underWay(): readonly string[] {
    return [...this.#underWay.values()];
  }

  /** So many faults have begun and have not ended, commands of operators not counted. */
  get lasting(): number {
    return this.#lasting;
  }

  /** So many commands of operators are being carried out, which go on when everything has healed. */
  get commandsUnderWay(): number {
    return this.#commands;
  }

  /** Times count from now; at 0 a fault begins at once. @throws TypeError when there is no such nemesis */
  schedule(faults: readonly Fault[]): void {
    for (const fault of faults) {
      const nemesis = nemesisOf(fault.kind);
      if (nemesis === undefined) throw new TypeError(`there is no nemesis "${fault.kind}"`);
      const missing = lacking(this.#target, nemesis.needs);
      if (missing.length === 0 && !this.#before.has(nemesis.kind)) this.#before.set(nemesis.kind, new Map());
      if (missing.length > 0) this.#leftOut.set(nemesis.kind, missing);
      else if (fault.atMs === 0) this.#inflict(nemesis, fault);
      else this.#target.after(fault.atMs, () => this.#inflict(nemesis, fault));
    }
  }

  /** Ends whatever is left, and begins nothing that was drawn for later, but what operators do on a healed cluster, too. */
  heal(): Done {
    this.#healed = true;
    return this.#target.heal();
  }

  #inflict(nemesis: Nemesis, planned: AnyFault, waitedMs = 0): void {
    if (this.#healed && nemesis.goesOnWhenHealed !== true) return;
    const fault = this.#possible(nemesis, planned);
    if (fault === undefined && waitedMs < (this.#target.patienceMs ?? 0)) {
      this.#target.after(LOOK_AGAIN_MS, () => this.#inflict(nemesis, planned, waitedMs + LOOK_AGAIN_MS));
      return;
    }
    if (fault === undefined) return;
    // It has all that this one needs: that was asked when it was scheduled.
    const target = this.#target as TargetWith<CapabilityName>;
    if (!this.#begun.has(fault.kind)) this.#before.set(fault.kind, new Map(target.struck));
    this.#begun.set(fault.kind, (this.#begun.get(fault.kind) ?? 0) + 1);
    const { excuses = true } = nemesis;
    const hosts = hostsIn(fault, nemesis.fields);
    target.faultBegins(fault.kind, excuses, hosts);
    const isCommand = nemesis.goesOnWhenHealed === true;
    const name = isCommand ? undefined : `${fault.kind} of ${hosts.join(', ') || 'all links'}`;
    if (!isCommand) this.#lasting += 1;
    const end = (): void => {
      const ended = (): void => {
        if (!isCommand) this.#lasting -= 1;
        target.faultEnded(fault.kind, excuses, hosts);
      };
      this.#then(name && `the end of ${name}`, nemesis.end?.(fault, target), ended);
    };
    this.#then(name && `the beginning of ${name}`, nemesis.begin(fault, target), () => {
      if (fault.forMs === undefined) end();
      else target.after(fault.forMs, end);
    });
  }

  /** At once where nothing takes time. */
  #then(what: string | undefined, done: Done, proceed: () => void): void {
    if (done === undefined) {
      proceed();
      return;
    }
    // Two of the same name are two.
    const number = (this.#asked += 1);
    if (what === undefined) this.#commands += 1;
    else this.#underWay.set(number, what);
    const over = (): void => {
      if (what === undefined) this.#commands -= 1;
      else this.#underWay.delete(number);
    };
    done.then(
      () => {
        over();
        proceed();
      },
      (error: unknown) => {
        over();
        this.#target.failed(error);
      },
    );
  }

  /** With the hosts that the names stand for now; undefined when one stands for nobody, or it is not possible with these. */
  #possible(nemesis: Nemesis, planned: AnyFault): AnyFault | undefined {
    const fault = this.#withHosts(nemesis, planned, []);
    if (fault === undefined || nemesis.possible?.(fault) !== false) return fault;
    // Where two names stand for one host, one of them may be able to stand for another.
    const other = this.#withHosts(nemesis, planned, hostsIn(fault, nemesis.fields));
    return other !== undefined && nemesis.possible(other) ? other : undefined;
  }

  #withHosts(nemesis: Nemesis, fault: AnyFault, taken: readonly string[]): AnyFault | undefined {
    try {
      return resolveHosts(fault, nemesis.fields, (name) => {
        const host = this.#target.hostOf(name, taken);
        if (host === undefined) throw new NobodyError(name);
        return host;
      });
    } catch (error) {
      if (error instanceof NobodyError) return undefined;
      throw error;
    }
  }
}
