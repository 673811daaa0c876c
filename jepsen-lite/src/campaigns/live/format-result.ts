/** A run's result as a few lines of text. */

import { HISTORY_FILE } from './run-directory.ts';
import type { LogFigures, RunResult } from './result.ts';

export function formatResult(result: RunResult, directory: string): string {
  const { verdict, why, target, seed, begun, struck, leftOut, operations, availability } = result;
  const calls = Object.entries(operations).map(
    ([name, { ok = 0, fail = 0, info = 0 }]) => `${name} ${ok}/${fail}/${info}`,
  );
  const left = Object.entries(leftOut).map(([kind, needs]) => `${kind} (${needs.join(', ')})`);
  const longest = Math.max(0, ...Object.values(availability.longestGapMs));
  const lines = [
    `${verdict}: ${why}`,
    `  target ${target}, seed ${seed}, ${(result.wallMs / 1_000).toFixed(1)} s`,
    `  faults begun: ${pairs(begun) || 'none'}`,
    `  seen of them: ${pairs(struck) || 'nothing'}`,
    ...(left.length === 0 ? [] : [`  left out, since this machine cannot: ${left.join('; ')}`]),
    ...(result.onLoopback === undefined
      ? []
      : [
          `  on the loopback (${result.onLoopback}): proxies stand for links, and a cut is silence without lost packets`,
        ]),
    `  calls (ok/fail/info): ${calls.join(', ') || 'none'}`,
    `  leader changes ${result.leaderChanges}, sessions that expired ${result.sessionsExpired}, longest time without service ${longest} ms`,
    ...(result.crowd === undefined
      ? []
      : [
          `  crowd of ${result.crowd.planned}: ${result.crowd.connected} sessions connected, ${result.crowd.reconnected} times one did again`,
        ]),
    ...Object.entries(availability.distributions).map(
      ([kind, { count, median, p90, max }]) =>
        `  without service around ${kind}: median ${median}, p90 ${p90}, longest ${max} ms of ${count} clients`,
    ),
    ...(result.log === undefined ? [] : [`  ${logLine(result.log)}`]),
    `  page: ${directory}/report.html`,
    ...(verdict === 'valid'
      ? []
      : [`  see ${directory}/${HISTORY_FILE} and logs; again: npx -y pnpm@12 jepsen replay ${directory}`]),
  ];
  return lines.join('\n');
}

function logLine({ entries, entriesForgotten, snapshots, acknowledged, acknowledgedLost }: LogFigures): string {
  const forgotten = entriesForgotten === 0 ? '' : ` (${entriesForgotten} of them in copies of the logs only)`;
  return `committed entries ${entries}${forgotten}, snapshots compared ${snapshots}, acknowledged calls ${acknowledged}, lost of them ${acknowledgedLost ?? 'unknown, since the logs are not whole'}`;
}

function pairs(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
