/** The rounds of `resume` as a table, and what they say together. */

import type { ResumeRound } from './resume.ts';

export const RESUME_HEAD = [
  '| round | last resumed, ms | median, ms | resumed | expired | changes | events | missed | surplus | watches ended | processor s: servers, clients | load |',
  '|---|---|---|---|---|---|---|---|---|---|---|---|',
] as const;

export function resumeRow(round: ResumeRound, load: number): string {
  const { lastMs, medianMs, resumed, expired, changes, told, missed, surplus, broken } = round;
  const seconds = `${round.serverSeconds.toFixed(1)}, ${round.clientSeconds.toFixed(1)}`;
  const counts = [round.round, lastMs, medianMs, resumed, expired, changes, told, missed, surplus, broken];
  return `| ${[...counts, seconds, load.toFixed(1)].join(' | ')} |`;
}

/** Everybody has resumed, nobody's session was lost, and every change was told once to everybody who watched it. */
export function isWhole(clients: number, { resumed, expired, broken, missed, surplus, told }: ResumeRound): boolean {
  return resumed === clients && expired === 0 && broken === 0 && missed === 0 && surplus === 0 && told >= clients;
}
