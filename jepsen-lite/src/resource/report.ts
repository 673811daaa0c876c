/** A trial in words: a table, what each situation says, the story of every kind of stale write that got in, and what to do. */

import type { Trial } from './play.ts';
import type { RoundEvent, WriteEvent } from './rounds/event.ts';
import type { Finding, Story } from './rounds/finding.ts';

const VERDICTS = {
  safe: 'SAFE: no stale write got in, and every write of the newest holder was taken.',
  stale: 'STALE WRITES GOT IN: this resource does not protect what it stores.',
  unknown: 'UNKNOWN: no stale write was seen to get in, but it was not shown that none can.',
} as const;

const ADVICE = `What is missing is one atomic step that compares the token and writes, such as

  UPDATE things SET value = $1, token = $2 WHERE id = $3 AND token <= $2

and a refusal when it changed no row. Looking first and writing afterwards is two steps, even within one transaction at the
default isolation. The highest token is stored with the data, for ever, and shared by everyone who writes.`;

export function renderTrial(trial: Trial): string {
  const { verdict, obstacle, findings } = trial;
  const parts = [
    ...(findings.length === 0 ? [] : [table(findings)]),
    ...findings.flatMap((finding) => remarksOn(finding)),
    ...findings.flatMap(({ stories, promise }) => stories.slice(0, 1).map((story) => renderStory(story, promise))),
    ...(verdict === 'stale' ? [ADVICE] : []),
    VERDICTS[verdict] + (obstacle === undefined ? '' : `\n  ${obstacle}`),
  ];
  return `${parts.join('\n\n')}\n`;
}

function table(findings: readonly Finding[]): string {
  const head = ['situation', 'verdict', 'rounds', 'old holder tried', 'refused', 'taken', 'unknown', 'newest: taken'];
  const rows = findings.map(({ name, verdict, rounds, old, newest }) => {
    const counts = [old.tried, old.refused, old.taken, old.unknown].map(String);
    return [
      name,
      verdict === 'stale' ? 'STALE GOT IN' : verdict,
      String(rounds),
      ...counts,
      `${newest.taken} of ${newest.tried}`,
    ];
  });
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? title).length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}

function remarksOn({ name, promise, reasons, warnings, verdict }: Finding): string[] {
  const lines = [...reasons, ...warnings.map((warning) => `WARNING: ${warning}`)];
  if (lines.length === 0) return [];
  const title = verdict === 'left out' ? `${name} was left out` : `${name}: the resource ${promise}`;
  return [[title, ...lines.map((line) => `  ${line}`)].join('\n')];
}

function renderStory({ write, events }: Story, promise: string): string {
  const told = leadingTo(write, events);
  const start = told[0]?.endedAt ?? 0;
  const lines = told.map((event) => {
    const at = `${((event.endedAt - start) / 1_000).toFixed(3).padStart(8)} s`;
    return `${event === write ? '>>' : '  '}${at}  ${event.who}  ${describe(event)}`;
  });
  return [`The resource ${promise}. It did not:`, ...lines].join('\n');
}

/** Long rounds have much that the write has nothing to do with; what it needs is who held what, what came before it, and who saw it. */
function leadingTo(write: WriteEvent, events: readonly RoundEvent[]): RoundEvent[] {
  const ordered = events.toSorted((x, y) => x.endedAt - y.endedAt);
  const seen = ordered.find(
    (event) => event.type === 'read' && event.value === write.value && event.endedAt >= write.calledAt,
  );
  const newer = ordered.filter(
    (event) => event.type === 'write' && event.purpose === 'newest' && event.who !== write.who,
  );
  const kept = new Set<RoundEvent | undefined>([
    write,
    seen,
    newer[0],
    newer.findLast((event) => event.endedAt <= write.endedAt),
  ]);
  return ordered.filter(
    (event) =>
      kept.has(event) ||
      (event.type !== 'write' && event.type !== 'read') ||
      (event.who === write.who && event.type === 'write' && event.purpose === 'newest'),
  );
}

function describe(event: RoundEvent): string {
  switch (event.type) {
    case 'granted':
      return `is granted the lock with token ${event.token}`;
    case 'released':
      return 'releases the lock';
    case 'stopped':
      return 'is stopped (SIGSTOP)';
    case 'woken':
      return 'wakes (SIGCONT) and goes on where it was';
    case 'held-back':
      return 'has sent a write, which the network holds back';
    case 'let-through':
      return 'has its write delivered now';
    case 'install':
      return `installs token ${event.token}: ${outcomeIn(event.outcome)}`;
    case 'read':
      return event.value === undefined ? `reads: ${outcomeIn(event.outcome)}` : `reads ${JSON.stringify(event.value)}`;
    case 'write':
      return `writes ${JSON.stringify(event.value)} with ${tokenIn(event)}: ${outcomeIn(event.outcome)}, ${tookIn(event)}`;
  }
}

function tokenIn({ token, purpose }: WriteEvent): string {
  if (token === undefined) return 'no token';
  return `${purpose === 'newest' ? '' : 'the old '}token ${token}`;
}

function tookIn({ calledAt, endedAt }: WriteEvent): string {
  return `after ${(endedAt - calledAt).toFixed(1)} ms`;
}

function outcomeIn(outcome: WriteEvent['outcome']): string {
  if (outcome.type === 'taken') return 'taken';
  return `${outcome.type} (${outcome.message})`;
}
