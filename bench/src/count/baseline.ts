/**
 * What a cycle cost when somebody last looked and found it right, one baseline a line of Node.js, since its own system calls and
 * allocations differ. A cost that grew by more than a fifth fails; one that fell by as much asks for a new baseline.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { COSTS, type CostName, type RoleCosts } from './costs.ts';

const MAX_GROWTH = 0.2;
const FILE = fileURLToPath(new URL('../../baseline.json', import.meta.url));

/** Load → costs. */
export type Counted = Readonly<Record<string, RoleCosts>>;
type Baselines = Readonly<Record<string, Counted>>;

export interface Comparison {
  readonly load: string;
  readonly role: keyof RoleCosts;
  readonly cost: CostName;
  readonly baseline: number;
  readonly counted: number;
  readonly verdict: 'grew' | 'fell' | 'same';
}

/** @throws Error when there is none for this line of Node.js. */
export function readBaseline(): Counted {
  const baseline = readBaselines()[nodeLine()];
  if (baseline === undefined) {
    throw new Error(
      `bench/baseline.json has no counts for Node.js ${nodeLine()}; make them: bench --count --write-baseline`,
    );
  }
  return baseline;
}

export function writeBaseline(counted: Counted): void {
  const baselines = { ...readBaselines(), [nodeLine()]: counted };
  const rounded = JSON.stringify(
    baselines,
    (_key, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value),
    2,
  );
  writeFileSync(FILE, `${rounded}\n`);
}

export function compare(baseline: Counted, counted: Counted): Comparison[] {
  return Object.entries(counted).flatMap(([load, roles]) =>
    (['leader', 'follower'] as const).flatMap((role) =>
      COSTS.map((cost): Comparison => {
        const before = baseline[load]?.[role][cost];
        if (before === undefined) throw new Error(`the baseline has no ${cost} of "${load}"; write a new one`);
        const now = roles[role][cost];
        const verdict = now > before * (1 + MAX_GROWTH) ? 'grew' : now < before * (1 - MAX_GROWTH) ? 'fell' : 'same';
        return { load, role, cost, baseline: before, counted: now, verdict };
      }),
    ),
  );
}

function readBaselines(): Baselines {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Baselines;
}

function nodeLine(): string {
  return process.versions.node.split('.')[0] ?? '';
}
