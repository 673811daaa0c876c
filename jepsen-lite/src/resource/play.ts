/** Plays the situations with a cast, and finds what they say. Nothing here knows whether the cast is real. */

import { randomStream } from '@holdfast/runtime/sim';

import { messageOf } from './adapters/resource.ts';
import type { WriteEvent } from './rounds/event.ts';
import { find, leftOut, type Finding } from './rounds/finding.ts';
import { Round, type Cast } from './rounds/round.ts';
import { SITUATIONS } from './situations/index.ts';
import type { Scene, Situation, SituationName } from './situations/situation.ts';

export interface Play {
  readonly seed: number;
  readonly rounds: number;
  readonly callTimeoutMs: number;
  /** @default all */
  readonly only?: readonly SituationName[];
  /** Hears of each when it is done. */
  onFinding?(finding: Finding): void;
}

export interface Trial {
  readonly verdict: 'safe' | 'stale' | 'unknown';
  /** Why nothing could be tried. */
  readonly obstacle?: string;
  readonly findings: readonly Finding[];
}

export async function playAll(cast: Cast, play: Play): Promise<Trial> {
  const obstacle = await firstWrite(cast, play).catch((error: unknown) => `it could not begin: ${messageOf(error)}`);
  if (obstacle !== undefined) return { verdict: 'unknown', obstacle, findings: [] };
  const findings: Finding[] = [];
  for (const situation of SITUATIONS) {
    if (play.only !== undefined && !play.only.includes(situation.name)) continue;
    const finding = await playSituation(situation, cast, play);
    findings.push(finding);
    play.onFinding?.(finding);
  }
  return { verdict: verdictOf(findings), findings };
}

function verdictOf(findings: readonly Finding[]): Trial['verdict'] {
  if (findings.some(({ verdict }) => verdict === 'stale')) return 'stale';
  const played = findings.filter(({ verdict }) => verdict !== 'left out');
  return played.length === 0 || played.some(({ verdict }) => verdict === 'unknown') ? 'unknown' : 'safe';
}

async function playSituation(situation: Situation, cast: Cast, play: Play): Promise<Finding> {
  const { name } = situation;
  const unfit = situation.unfit?.(cast);
  if (unfit !== undefined) return leftOut(situation, unfit);
  const scene: Scene = {
    cast,
    random: randomStream(play.seed, name),
    callTimeoutMs: play.callTimeoutMs,
    rounds: play.rounds,
    writeMs: [],
  };
  const rounds: Round[] = [];
  try {
    for (let number = 1; number <= situation.rounds(play.rounds); number += 1) {
      const round = new Round(cast, `${prefixOf(play)}-${name}-${number}`);
      rounds.push(round);
      await situation.play(round, scene);
    }
    return find(
      situation,
      rounds.map(({ events }) => events),
    );
  } catch (error) {
    return find(
      situation,
      rounds.map(({ events }) => events),
      `it could not be played to its end: ${messageOf(error)}`,
    );
  }
}

/** Values of another run may still be there. */
function prefixOf({ seed }: Play): string {
  return `jepsen-${seed}`;
}

/** Why this resource cannot be tried: it does not take the first write, or others do not see it. */
async function firstWrite(cast: Cast, play: Play): Promise<string | undefined> {
  const { a, c } = cast;
  const round = new Round(cast, `${prefixOf(play)}-first`);
  const token = await round.acquire(a);
  await round.install(a, token);
  const write = await round.write(a, token, 'newest');
  await round.read(c);
  await round.release(a);
  if (write.outcome.type !== 'taken') return notTaken(write, token);
  const read = round.events.find((event) => event.type === 'read');
  if (read?.value === write.value) return undefined;
  const shown = read?.value === undefined || read.value === null ? 'nothing' : JSON.stringify(read.value);
  return `one process wrote ${JSON.stringify(write.value)}, and another then read ${shown}; a resource must be shared between processes`;
}

function notTaken({ outcome }: WriteEvent, token: number): string {
  if (outcome.type === 'taken') throw new Error('told why a write was not taken that was');
  if (outcome.type === 'unknown') return `the first write was neither taken nor refused: ${outcome.message}`;
  const advice =
    'if an earlier run or another ensemble left a higher token there, try a fresh row, key or bucket, or name that ensemble by --servers';
  return `the very first write was refused, with token ${token}: ${outcome.message}; ${advice}`;
}
