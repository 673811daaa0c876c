/** `jepsen explore`: everything that may happen to a few servers within bounds. */

import { Command, InvalidArgumentError } from 'commander';

import { BOUNDS, boundsOf } from './bounds.ts';
import { explore, type Exploration, type ExploreOptions } from './explore.ts';
import { PLANTED, plantedPairs } from './planted.ts';
import { renderExplorations } from './report.ts';
import { MODEL_BOUNDS, exploreModel } from './vote-ban/model.ts';
import { RULES } from './vote-ban/rules.ts';

interface Flags {
  readonly bounds?: readonly string[];
  readonly states: number;
  readonly planted?: true | readonly string[];
  readonly sample?: true;
}

const NAMES = BOUNDS.map(({ name }) => name);
const PLANTED_NAMES = PLANTED.map(({ mutant }) => mutant);

export function exploreCommand(): Command {
  return new Command('explore')
    .description(
      'moves the real core of consensus through every order of elections, messages, writes and crashes within bounds, and judges each step',
    )
    .option('--bounds <name...>', `within these: ${NAMES.join(', ')}`, oneOf(NAMES))
    .option('--states <count>', 'worlds within each bounds, at most', count, 2_000_000)
    .option(
      '--planted [name...]',
      'explores planted bugs instead of the product, and fails when one is not found',
      oneOf(PLANTED_NAMES),
    )
    .option('--sample', 'only what takes seconds')
    .action(run);
}

async function run({ bounds, states, planted, sample }: Flags): Promise<void> {
  if (planted !== undefined) {
    await runPlanted(states, (name, small) => (planted === true ? sample !== true || small : planted.includes(name)));
    return;
  }
  const chosen = (bounds ?? NAMES)
    .map((name) => boundsOf(name))
    .filter((each) => sample !== true || each.sample === true);
  const found: Exploration[] = [];
  for (const each of chosen) found.push(await exploreAloud(each, { states }));
  print(renderExplorations(found));
  const rulesSuffice = bounds !== undefined || judgeRules();
  if (rulesSuffice && found.every(({ broken }) => broken === undefined)) return;
  print('FAILED: a promise of consensus is broken; the shortest ways there are above');
  process.exitCode = 1;
}

/** Of the ban on voting, by themselves. */
function judgeRules(): boolean {
  const { broken, worlds } = exploreModel(RULES, MODEL_BOUNDS);
  const { servers, terms, losses, commands } = MODEL_BOUNDS;
  const within = `${servers} servers, ${terms} terms, ${losses} loss, ${commands} command`;
  print(
    `rules of the vote ban: ${worlds.toLocaleString('en')} worlds of ${within}: ${broken === undefined ? 'complete' : 'BROKEN'}`,
  );
  if (broken !== undefined) print(broken.join('\n'));
  return broken === undefined;
}

async function runPlanted(states: number, isChosen: (name: string, sample: boolean) => boolean): Promise<void> {
  const found: Exploration[] = [];
  for (const { mutant, bounds } of plantedPairs(PLANTED.filter((each) => isChosen(each.mutant, each.sample)))) {
    found.push(await exploreAloud(bounds, { states, mutant }));
  }
  print(renderExplorations(found));
  const missed = found.filter(({ broken }) => broken === undefined).map(({ mutant }) => mutant?.name);
  print(`planted bugs: ${found.length - missed.length} of ${found.length} found`);
  if (missed.length === 0) return;
  print(`FAILED: nothing was found of ${missed.join(', ')}`);
  process.exitCode = 1;
}

async function exploreAloud(
  ...[bounds, options]: [Parameters<typeof explore>[0], ExploreOptions]
): Promise<Exploration> {
  const exploration = await explore(bounds, options);
  const { broken, mutant, states, depth } = exploration;
  const name = mutant === undefined ? bounds.name : `${mutant.name} within ${bounds.name}`;
  if (broken === undefined) process.stderr.write(`${name}: ${states} worlds\n`);
  else print(`${name}: ${broken.law} after ${depth} steps\n${broken.transcript}\n`);
  return exploration;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function oneOf(names: readonly string[]): (text: string, before: unknown) => string[] {
  return (text, before) => {
    if (!names.includes(text))
      throw new InvalidArgumentError(`there is none of that name; there are ${names.join(', ')}`);
    return [...(Array.isArray(before) ? (before as string[]) : []), text];
  };
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('must be an integer from 1');
  return value;
}
