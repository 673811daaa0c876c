/** Draws planted bugs at random: the same count and seed draw the same ones from the same product. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { randomStream } from '@holdfast/runtime/sim';

import type { Mutant } from '../mutant.ts';
import { builtFile } from '../../patches/product.ts';
import type { Area } from './areas.ts';
import { sitesOf, type Rule, type Site } from './sites.ts';

export interface RandomMutant extends Mutant {
  /** Its place in the draw, from 1 on. */
  readonly number: number;
  readonly area: Area;
  readonly rule: Rule;
  /** Within the built files of the area's module, with slashes. */
  readonly file: string;
  /** Of the built file, from 1 on. */
  readonly line: number;
  /** What stood there, and what stands there now. */
  readonly before: string;
  readonly after: string;
}

/** Each place at most once; every place is as likely as any other. Fewer than `count` when there are not so many. */
export function drawMutants(areas: readonly Area[], count: number, seed: number): RandomMutant[] {
  const places = areas.flatMap((area) => builtFiles(area).flatMap((file) => placesOf(area, file)));
  const random = randomStream(seed, 'random mutants');
  const drawn: RandomMutant[] = [];
  while (drawn.length < count && places.length > 0) {
    const [place] = places.splice(random.integer(places.length), 1);
    if (place !== undefined) drawn.push(mutantAt(place, drawn.length + 1));
  }
  return drawn;
}

interface Place {
  readonly area: Area;
  readonly file: string;
  readonly text: string;
  readonly site: Site;
}

function placesOf(area: Area, file: string): Place[] {
  const text = readFileSync(builtFile(area.module, file), 'utf8');
  return sitesOf(file, text).map((site) => ({ area, file, text, site }));
}

/** Of one area, within its module. */
export function builtFiles({ module, files }: Pick<Area, 'module' | 'files'>): string[] {
  const root = fileURLToPath(builtFile(module, '.'));
  return files.flatMap((file) => filesUnder(join(root, file))).map((path) => relative(root, path).split(sep).join('/'));
}

function filesUnder(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .toSorted()
    .flatMap((name) => filesUnder(join(path, name)))
    .filter((name) => name.endsWith('.js'));
}

function mutantAt({ area, file, text, site }: Place, number: number): RandomMutant {
  const line = lineOf(text, site.start);
  const before = text.slice(site.start, site.end);
  return {
    name: `${area.module.replace('@holdfast/', '')}/${file}:${line}:${columnOf(text, site.start)} ${site.rule}`,
    breaks: 'whatever distinguishes it from the product',
    patches: [{ module: area.module, file, edits: [editAt(text, site)] }],
    caughtBy: [],
    number,
    area,
    rule: site.rule,
    file,
    line,
    before,
    after: site.replacement,
  };
}

/** As many lines around the place as it takes to tell it from every other. */
function editAt(text: string, { start, end, replacement }: Site): { readonly find: string; readonly replace: string } {
  let from = lineStart(text, start);
  let to = lineEnd(text, end);
  while (occurrences(text, text.slice(from, to)) > 1) {
    from = lineStart(text, Math.max(0, from - 1));
    to = lineEnd(text, Math.min(text.length, to + 1));
  }
  // White space at its ends is not looked for, so it would be doubled.
  while (from < start && /\s/.test(text.charAt(from))) from += 1;
  return { find: text.slice(from, to), replace: text.slice(from, start) + replacement + text.slice(end, to) };
}

/** As an edit finds its place: any run of white space stands for any other. */
function occurrences(text: string, part: string): number {
  const normal = (of: string): string => of.trim().replaceAll(/\s+/g, ' ');
  return normal(text).split(normal(part)).length - 1;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}

function columnOf(text: string, at: number): number {
  return at - lineStart(text, at) + 1;
}
