/** `jepsen mutants --random`: draws mutants, hunts each, and tells what survived. */

import { readFileSync } from 'node:fs';

import { inParallel } from '../in-parallel.ts';
import { builtFile } from '../../patches/product.ts';
import { AREAS } from './areas.ts';
import { drawMutants, type RandomMutant } from './draw.ts';
import { equalBecause } from './equal-in-effect.ts';
import { RandomJudge, type RandomResult } from './judge.ts';

export interface RandomOptions {
  readonly count: number;
  readonly seed: number;
  readonly jobs: number;
  /** The numbers of the first and of the last of the drawn ones that are judged. @default all */
  readonly from?: number;
  readonly to?: number;
  /** Names of areas. @default all */
  readonly areas?: readonly string[];
  readonly onResult?: (result: RandomResult) => void;
}

interface Survivor {
  readonly mutant: RandomMutant;
  /** As it is built, without the mutant. */
  readonly line: string;
  /** Why nobody can notice it, where that is known. */
  readonly equalBecause: string | undefined;
}

export interface RandomReport {
  readonly results: readonly RandomResult[];
  readonly survivors: readonly Survivor[];
  /** Of those that are not known to be equal in effect: how many were noticed, from 0 to 1. */
  readonly share: number;
}

/** Rejects when the name of an area is unknown, and when tests fail without any mutant. */
export async function runRandomMutants(options: RandomOptions): Promise<RandomReport> {
  const areas = AREAS.filter(({ name }) => options.areas?.includes(name) ?? true);
  const unknown = options.areas?.find((name) => !AREAS.some((area) => area.name === name));
  if (unknown !== undefined) {
    throw new Error(`there is no area "${unknown}"; there are ${AREAS.map(({ name }) => name).join(', ')}`);
  }
  const { count, seed, from = 1, to = count } = options;
  const mutants = drawMutants(areas, count, seed).filter(({ number }) => from <= number && number <= to);
  const judge = new RandomJudge();
  await judge.control(areas.filter((area) => mutants.some((mutant) => mutant.area === area)));
  const results = await inParallel(mutants, options.jobs, async (mutant) => {
    const result = await judge.judge(mutant);
    options.onResult?.(result);
    return result;
  });
  const survivors = results.filter(({ noticed }) => noticed === undefined).map(({ mutant }) => survivor(mutant));
  const equal = survivors.filter(({ equalBecause: because }) => because !== undefined).length;
  const judged = results.length - equal;
  return { results, survivors, share: judged === 0 ? 1 : (results.length - survivors.length) / judged };
}

function survivor(mutant: RandomMutant): Survivor {
  const lines = readFileSync(builtFile(mutant.area.module, mutant.file), 'utf8').split('\n');
  const line = (lines[mutant.line - 1] ?? '').trim();
  return { mutant, line, equalBecause: equalBecause(mutant, lines) };
}

/** The tables by area and by what noticed them, then the survivors, each with its line. */
export function renderRandomReport({ results, survivors, share }: RandomReport): string {
  const lines = AREAS.flatMap((area) => {
    const own = results.filter(({ mutant }) => mutant.area === area);
    if (own.length === 0) return [];
    const by = new Map<string, number>();
    for (const { noticed } of own) by.set(noticed?.by ?? 'nothing', (by.get(noticed?.by ?? 'nothing') ?? 0) + 1);
    const parts = [...by].map(([name, count]) => `${count} by ${name}`).join(', ');
    return [`${area.name}: ${own.length} mutants: ${parts}`];
  });
  for (const { mutant, line, equalBecause: because } of survivors) {
    lines.push(`${because === undefined ? 'SURVIVED' : 'equal in effect'}  ${describeMutant(mutant)}`, `    ${line}`);
    if (because !== undefined) lines.push(`    ${because}`);
  }
  const equal = survivors.filter(({ equalBecause: because }) => because !== undefined).length;
  lines.push(
    `random mutants: ${results.length - survivors.length} of ${results.length - equal} noticed (${(100 * share).toFixed(1)} %); ` +
      `${equal} more are known to be equal in effect`,
  );
  return lines.join('\n');
}

/** Its number, where it is, and what became of what. */
export function describeMutant({ number, name, before, after }: RandomMutant): string {
  return `${number} ${name}: ${oneLine(before)} -> ${oneLine(after)}`;
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 77)}...` : line;
}
