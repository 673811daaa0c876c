/** Classes of faults and sets of workloads, as `jepsen run --all` goes through them: every set under every class, in turn. */

import { NEMESES, nemesisOf } from '../../nemeses/index.ts';
import type { CapabilityName } from '../../nemeses/target.ts';
import { drawableNemeses } from '../../scenario/draw/live.ts';
import { isOfReplicas, PATTERNS } from '../../scenario/draw/patterns.ts';
import { usesReplicas, WORKLOADS } from '../../workloads/index.ts';
import type { Workload } from '../../workloads/workload.ts';

/** Kinds that can be drawn by themselves, by what they need first, and the patterns that are made of them. */
function faultClasses(capabilities: readonly CapabilityName[]): ReadonlyMap<CapabilityName, readonly string[]> {
  const classes = new Map<CapabilityName, string[]>();
  const drawable = new Set(drawableNemeses());
  for (const nemesis of NEMESES) {
    const { kind, needs } = nemesis;
    const [first] = needs;
    if (!drawable.has(kind) || first === undefined || !needs.every((need) => capabilities.includes(need))) continue;
    classes.set(first, [...(classes.get(first) ?? []), kind]);
  }
  const available = (kind: string): boolean =>
    nemesisOf(kind)?.needs.every((need) => capabilities.includes(need)) === true;
  for (const { name, kinds } of PATTERNS) {
    const first = nemesisOf(kinds[0] ?? '')?.needs[0];
    if (first === undefined || !kinds.every(available)) continue;
    classes.set(first, [...new Set([...(classes.get(first) ?? []), name])]);
  }
  return classes;
}

/** By what they are about, beside each other: together they are every workload. */
function workloadSets(): readonly { readonly name: string; readonly workloads: readonly string[] }[] {
  const named = (...some: readonly Workload[]): readonly string[] => some.map(({ name }) => name);
  const alone = WORKLOADS.filter((one) => one.alone === true);
  const others = WORKLOADS.filter((one) => one.alone !== true);
  const locks = others.filter(({ takesLocks }) => takesLocks === true);
  const nodes = others.filter(({ takesLocks }) => takesLocks !== true);
  return [
    { name: 'locks', workloads: named(...locks) },
    { name: 'nodes', workloads: named(...nodes) },
    ...alone.map((one) => ({ name: one.name, workloads: named(one) })),
  ];
}

export interface Pairing {
  /** Of its directory. */
  readonly name: string;
  readonly workloads: readonly string[];
  readonly nemeses: readonly string[];
  /** So many of them have their turns at the same time. */
  readonly atOnce: number;
}

/** Each has its turn beside a step of an upgrade. */
const BESIDE_VERSIONS = ['kill-leader', 'pause-leader', 'isolate-leader', 'member-churn'];
/** In the class of all faults. */
const AT_ONCE = 3;

export function pairings(capabilities: readonly CapabilityName[]): Pairing[] {
  const { versions, ...others } = Object.fromEntries(faultClasses(capabilities));
  const everything = Object.values(others).flat();
  const single = Object.entries(others).map(([name, nemeses]) => ({ name, nemeses, atOnce: 1 }));
  // Not among all the others: they are to strike servers that are all of the present version.
  const beside = BESIDE_VERSIONS.filter((name) => everything.includes(name));
  const steps = beside.flatMap((name) => [...(versions ?? []), name]);
  const mixed = versions === undefined ? [] : [{ name: 'versions', nemeses: steps, atOnce: 2 }];
  const all = { name: 'all-at-once', nemeses: everything, atOnce: AT_ONCE };
  return workloadSets().flatMap(({ name: set, workloads }) => {
    const strikesSomebody = (nemesis: string): boolean => !isOfReplicas(nemesis) || usesReplicas([{ workloads }]);
    return [...single, ...mixed, all].map(({ name, nemeses, atOnce }) => ({
      name: `${set}-under-${name}`,
      workloads,
      nemeses: nemeses.filter(strikesSomebody),
      atOnce,
    }));
  });
}
