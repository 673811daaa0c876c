/** Whether a watch has told what was changed: each index once, in order, and nothing else. */

export interface Comparison {
  readonly told: number;
  /** Changes that were not told. */
  readonly missed: number;
  /** Events of no change, events again, and events behind a later one. */
  readonly surplus: number;
}

export const NOTHING_TOLD: Comparison = { told: 0, missed: 0, surplus: 0 };

/** @param changed in rising order */
export function compare(changed: readonly number[], told: readonly number[]): Comparison {
  let at = 0;
  let missed = 0;
  let surplus = 0;
  for (const index of told) {
    let next = at;
    while (next < changed.length && (changed[next] as number) < index) next += 1;
    if (changed[next] !== index) {
      surplus += 1;
      continue;
    }
    missed += next - at;
    at = next + 1;
  }
  return { told: told.length, missed: missed + changed.length - at, surplus };
}

export function sum(all: readonly Comparison[]): Comparison {
  return all.reduce(
    (total, each) => ({
      told: total.told + each.told,
      missed: total.missed + each.missed,
      surplus: total.surplus + each.surplus,
    }),
    NOTHING_TOLD,
  );
}
