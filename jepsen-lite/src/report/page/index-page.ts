/** The page over many runs: a table of workloads and classes of faults, with a verdict in each cell, and a list of all runs. */

import type { Verdict } from '../../checkers/verdict.ts';
import { duration, whole } from '../timeline/ticks.ts';
import { document, markup, type Html } from './html.ts';
import { badge, markOf } from './marks.ts';
import { STYLE } from './style.ts';

/** One run, as the index tells of it. */
export interface IndexedRun {
  readonly workload: string;
  /** The class of its faults. */
  readonly faults: string;
  readonly valid: Verdict['valid'];
  /** Its page, relative to the index. */
  readonly href: string;
  readonly title: string;
  readonly calls: number;
  readonly durationMs: number;
  /** Faults that struck. */
  readonly struck: number;
  /** What is broken, or why nobody can tell. */
  readonly message?: string | undefined;
}

export interface Index {
  readonly title: string;
  /** Workloads and classes of faults stand in the order in which they first come. */
  readonly runs: readonly IndexedRun[];
  /** What was left out, and why; each a sentence. */
  readonly notes?: readonly string[];
}

/** The worst counts; of none: unknown. */
function together(runs: readonly IndexedRun[]): Verdict['valid'] {
  if (runs.some(({ valid }) => valid === false)) return false;
  return runs.length > 0 && runs.every(({ valid }) => valid === true) ? true : 'unknown';
}

export function indexPage({ title, runs, notes = [] }: Index, script: string): string {
  const valid = together(runs);
  const count = (of: Verdict['valid']): string => whole(runs.filter((run) => run.valid === of).length);
  const facts: readonly (readonly [string, string])[] = [
    ['runs', whole(runs.length)],
    ['passed', count(true)],
    ['failed', count(false)],
    ['unknown', count('unknown')],
    ['calls', whole(runs.reduce((sum, run) => sum + run.calls, 0))],
    ['faults that struck', whole(runs.reduce((sum, run) => sum + run.struck, 0))],
    ['time', duration(runs.reduce((sum, run) => sum + run.durationMs, 0))],
  ];
  const body = markup`<header class="top"><div class="title">${badge(valid)}<h1>${title}</h1></div>
<button type="button" id="theme" class="quiet" hidden>Dark</button></header>
<main>
<dl class="facts">${facts.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
${notes.map((note) => markup`<p class="warning">${note}</p>`)}
${runs.length === 0 ? markup`<section class="card"><p class="empty">No run has ended yet.</p></section>` : markup`${matrix(runs)}${list(runs)}`}
</main>
<footer>Made by jepsen-lite. A cell shows the worst verdict of its runs. <b>?</b> is never as good as <b>✓</b>: too little was seen to judge.</footer>`;
  return document({ title: `${markOf(valid).word}: ${title}`, style: STYLE, script, body });
}

function matrix(runs: readonly IndexedRun[]): Html {
  const workloads = [...new Set(runs.map(({ workload }) => workload))];
  const classes = [...new Set(runs.map(({ faults }) => faults))];
  const rows = workloads.map((workload) => {
    const cells = classes.map((faults) =>
      cell(runs.filter((run) => run.workload === workload && run.faults === faults)),
    );
    return markup`<tr><th scope="row">${workload}</th>${cells}</tr>`;
  });
  return markup`<section class="card"><h2>Workloads and faults</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Verdicts by workload and class of faults"><table class="matrix">
<thead><tr><th scope="col">workload</th>${classes.map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

function cell(runs: readonly IndexedRun[]): Html {
  if (runs.length === 0) return markup`<td class="none" title="not run">–</td>`;
  const { sign, word, name } = markOf(together(runs));
  const worst = runs.find(({ valid }) => markOf(valid).name === name) ?? runs[0];
  const times = runs.length > 1 && markup`<span class="times">×${runs.length}</span>`;
  return markup`<td class="mark ${name}"><a href="${worst?.href}" title="${worst?.message ?? worst?.title}"><span aria-hidden="true">${sign}</span> ${word}</a>${times}</td>`;
}

/** What failed first. */
function list(runs: readonly IndexedRun[]): Html {
  const rank = ({ valid }: IndexedRun): number => (valid === false ? 0 : valid === true ? 2 : 1);
  const rows = runs
    .toSorted((left, right) => rank(left) - rank(right))
    .map(({ valid, href, title, workload, faults, calls, struck, durationMs, message }) => {
      const { sign, word, name } = markOf(valid);
      return markup`<tr><td class="mark ${name}"><span aria-hidden="true">${sign}</span> ${word}</td><th scope="row"><a href="${href}">${title}</a>${message !== undefined && markup`<span class="message">${message}</span>`}</th><td>${workload}</td><td>${faults}</td><td class="figure">${whole(calls)}</td><td class="figure">${whole(struck)}</td><td class="figure">${duration(durationMs)}</td></tr>`;
    });
  return markup`<section class="card"><h2>Runs</h2><div class="scroll" tabindex="0" role="region" aria-label="Runs"><table>
<thead><tr><th scope="col">verdict</th><th scope="col">run</th><th scope="col">workload</th><th scope="col">faults</th><th scope="col" class="figure">calls</th><th scope="col" class="figure">struck</th><th scope="col" class="figure">time</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}
