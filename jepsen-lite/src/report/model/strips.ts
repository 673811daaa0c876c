/** What happened around the clients, as bands: who led, which faults were under way, and when the phases of the run began. */

import { MAX_FAULT_BANDS, MAX_ROWS_OF_BANDS } from '../limits.ts';
import { pack } from '../timeline/pack.ts';
import type { FaultBand, FaultTrack, LeaderBand } from '../timeline/page-data.ts';
import { visible } from '../words/text.ts';
import type { History } from '../../history/history.ts';
import { rounded } from './calls.ts';

const PHASE_LABELS = { faults: 'faults begin', healed: 'healed', quiet: 'quiet' } as const;

/** A leader that nobody saw end leads until the end of the run. */
export function leaderRows(history: History): readonly (readonly LeaderBand[])[] {
  const endMs = rounded(history.at(-1)?.timeMs ?? 0);
  const bands: { -readonly [K in keyof LeaderBand]: LeaderBand[K] }[] = [];
  const leading = new Map<string, (typeof bands)[number]>();
  for (const event of history) {
    if (event.type !== 'leadership') continue;
    const atMs = rounded(event.timeMs);
    const before = leading.get(event.process);
    if (before !== undefined) before.endMs = atMs;
    leading.delete(event.process);
    if (event.phase === 'end') continue;
    const band = { seq: event.seq, server: visible(event.process), term: event.term, startMs: atMs, endMs };
    bands.push(band);
    leading.set(event.process, band);
  }
  return pack(bands, MAX_ROWS_OF_BANDS).rows;
}

/** A track for each kind, in the order in which they first began. What overlaps is one band. */
export function faultTracks(history: History): readonly FaultTrack[] {
  const endMs = rounded(history.at(-1)?.timeMs ?? 0);
  const kinds = new Map<string, OpenFault[]>();
  for (const event of history) {
    if (event.type !== 'fault') continue;
    const atMs = rounded(event.timeMs);
    const ofKind = kinds.get(event.fault) ?? [];
    if (ofKind.length === 0) kinds.set(event.fault, ofKind);
    if (event.phase === 'begin') ofKind.push({ startMs: atMs, endMs, hosts: event.hosts ?? '', open: true });
    const ended = event.phase === 'end' && ofKind.find(({ open, hosts }) => open && hosts === (event.hosts ?? ''));
    if (ended) Object.assign(ended, { endMs: atMs, open: false });
  }
  return [...kinds].map(([kind, faults]) => ({ kind: visible(kind), count: faults.length, bands: merged(faults) }));
}

export function phases(history: History): { readonly label: string; readonly atMs: number }[] {
  return history.flatMap((event) =>
    event.type === 'phase' ? { label: PHASE_LABELS[event.phase], atMs: rounded(event.timeMs) } : [],
  );
}

interface OpenFault {
  readonly startMs: number;
  endMs: number;
  readonly hosts: string;
  open: boolean;
}

function merged(faults: readonly OpenFault[]): readonly FaultBand[] {
  const bands: { startMs: number; endMs: number; hosts: string; count: number }[] = [];
  for (const { startMs, endMs, hosts } of faults) {
    const last = bands.at(-1);
    // Where there are too many, neighbours become one, too: the end of a run must not go missing.
    if (last !== undefined && (startMs < last.endMs || bands.length >= MAX_FAULT_BANDS)) {
      last.endMs = Math.max(last.endMs, endMs);
      last.count += 1;
    } else {
      bands.push({ startMs, endMs, hosts, count: 1 });
    }
  }
  return bands.map(({ startMs, endMs, hosts, count }) => ({
    startMs,
    endMs,
    label: count > 1 ? `×${count}` : visible(hosts),
  }));
}
