/**
 * What a kind of fault that has found nobody is given before everything heals: its turn once more, alone at first. Where many kinds
 * strike at once, whoever it was for may have been down, and one that belongs to others may need them.
 */

import { nemesisOf, type Fault } from '../nemeses/index.ts';

/** A run in which more than these did nothing is not worth its end. */
export const MAX_SECOND_TURNS = 8;
/** What came so soon after a fault may have been drawn with it. */
const WITH_IT_MS = 4_000;
/** For an operator's command that waits for servers which others have struck. */
const COMMAND_MS = 15_000;
/** For servers to come back, and for what struck to be seen. */
const SETTLE_MS = 2_000;

export interface SecondTurn {
  /** Their times count from the beginning of the turn. */
  readonly faults: readonly Fault[];
  readonly lastsMs: number;
}

/**
 * In the order in which they are tried. Operators' commands are still being given, so that they need only time with nothing beside them.
 */
export function secondTurns(kind: string, faults: readonly Fault[]): readonly SecondTurn[] {
  if (nemesisOf(kind)?.goesOnWhenHealed === true && faults.some((fault) => fault.kind === kind)) {
    return [{ faults: [], lastsMs: COMMAND_MS }];
  }
  const schedule = faults.filter((fault) => nemesisOf(fault.kind)?.goesOnWhenHealed !== true);
  const first = schedule.find((fault) => fault.kind === kind);
  if (first === undefined) return [];
  const endMs = first.atMs + Math.max(WITH_IT_MS, lastsOf(first));
  const around = schedule.filter((fault) => fault.atMs < endMs && fault.atMs + lastsOf(fault) >= first.atMs);
  return [turnOf([first]), turnOf(around)];
}

function turnOf(faults: readonly Fault[]): SecondTurn {
  const beginMs = Math.min(...faults.map(({ atMs }) => atMs));
  const endMs = Math.max(...faults.map((fault) => fault.atMs + lastsOf(fault)));
  return {
    faults: faults.map((fault) => ({ ...fault, atMs: fault.atMs - beginMs })),
    lastsMs: endMs - beginMs + SETTLE_MS,
  };
}

function lastsOf(fault: Fault): number {
  return 'forMs' in fault ? fault.forMs : 0;
}
