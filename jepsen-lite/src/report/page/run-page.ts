/** The page of one run: what came of it, what broke in words, the timeline, the verdicts, the faults and the scenario. */

import { worst } from '../../checkers/check.ts';
import type { Verdict } from '../../checkers/verdict.ts';
import { callsOf } from '../../history/calls.ts';
import { duration, time, whole } from '../timeline/ticks.ts';
import type { Broken } from '../model/findings.ts';
import { pageModel, type PageModel } from '../model/page-model.ts';
import { outcomeOf, type ReportRun } from '../run.ts';
import { evidence, evidenceTitle, hasEvidence } from './evidence.ts';
import { document, markup, type Html } from './html.ts';
import { badge, markOf } from './marks.ts';
import { STYLE } from './style.ts';

export function runPage(run: ReportRun, script: string): string {
  const model = pageModel(run);
  const valid = outcomeOf(run);
  const body = markup`<header class="top">
<div class="title">${badge(valid)}<h1>${run.title}</h1><span class="target">${run.target}</span></div>
<button type="button" id="theme" class="quiet" hidden>Dark</button>
</header>
<main>
${facts(run, model)}
${model.broken.length > 0 ? failure(run, model) : calm(run, valid)}
${timeline(model)}
${evidence(model)}
<div class="columns">
${verdicts(run)}
${faults(run)}
</div>
${scenario(run)}
</main>
<footer>Made by jepsen-lite. The page is complete in itself and loads nothing.</footer>`;
  return document({ title: `${markOf(valid).word}: ${run.title}`, style: STYLE, script, body, data: model.data });
}

function facts(run: ReportRun, { data }: PageModel): Html {
  const calls = callsOf(run.history);
  const of = (type: string | undefined): number => calls.filter(({ completion }) => completion?.type === type).length;
  const begun = data.faults.reduce((sum, { count }) => sum + count, 0);
  const terms = new Set(data.leaders.flat().map(({ term }) => term)).size;
  const expired = run.history.filter((event) => event.type === 'ended-session' && event.reason === 'expired').length;
  const clients = new Set(calls.map(({ invoke }) => invoke.process)).size;
  const list: readonly (readonly [string, string])[] = [
    ['duration', duration(data.endMs - data.startMs)],
    ['clients', whole(clients)],
    ['calls', whole(calls.length)],
    ['ok', whole(of('ok'))],
    ['fail', whole(of('fail'))],
    ['info', whole(of('info'))],
    ['never answered', whole(of(undefined))],
    ['faults', whole(begun)],
    ['terms led', data.leaders.length === 0 ? '–' : whole(terms)],
    ['sessions expired', whole(expired)],
  ];
  return markup`<dl class="facts">${list.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Nothing broke: what that rests on. */
function calm(run: ReportRun, valid: Verdict['valid']): Html {
  const unknown = run.verdicts.filter((verdict) => verdict.valid === 'unknown').map(({ checker }) => checker);
  const total = run.verdicts.length;
  const text =
    total === 0
      ? 'No checker has judged this history.'
      : unknown.length === 0
        ? `${total === 1 ? 'One checker' : `All ${total} checkers`} looked at this history and found nothing wrong.`
        : `${total - unknown.length} of ${total} checkers found nothing wrong. Too little to judge, which is never as good as a pass: ${unknown.join(', ')}.`;
  // A nemesis that did nothing fails a run, too.
  const idle =
    run.idle === undefined || run.idle.length === 0 ? '' : ` Scheduled, and did nothing: ${run.idle.join(', ')}.`;
  const failed = valid === false ? `The run failed, though no promise was seen broken.${idle} ` : '';
  return markup`<section class="card ${markOf(valid).name}"><p class="verdict-text">${failed}${text}</p>${replay(run)}</section>`;
}

function failure(run: ReportRun, { broken, leftOut }: PageModel): Html {
  const [first, ...others] = broken;
  const more = leftOut.find((clause) => clause.endsWith('findings'));
  return markup`<section class="card failed" aria-labelledby="broke">
${first !== undefined && finding(first, 0, 'h2')}
${replay(run)}
${
  others.length > 0 &&
  markup`<details class="others"><summary>${others.length} more finding${others.length > 1 && 's'}${more !== undefined && `, and ${more} that are not shown`}</summary>
${others.map((each, place) => finding(each, place + 1, 'h3'))}</details>`
}
</section>`;
}

function finding({ by, message, witness, order, log }: Broken, place: number, heading: 'h2' | 'h3'): Html {
  const id = place === 0 ? 'broke' : `broke-${place + 1}`;
  const title = markup`<span class="by">${by}</span> ${firstLine(message)}`;
  const rest = message.slice(firstLine(message).length).trim();
  const { sentences, leftOut } = witness;
  const middle = leftOut === 0 ? -1 : sentences.length / 2;
  return markup`<article class="finding" data-finding="${place}">
${heading === 'h2' ? markup`<h2 id="${id}">${title}</h2>` : markup`<h3 id="${id}">${title}</h3>`}
${rest !== '' && markup`<details><summary>The message in full</summary><pre>${rest}</pre></details>`}
${
  sentences.length > 0 &&
  markup`<ol class="witness">${sentences.map(
    (sentence, n) => markup`${n === middle && markup`<li class="gap">… ${leftOut} more in between …</li>`}<li>
<button type="button" class="step${sentence.context && ' context'}" data-finding="${place}" data-step="${n}"><span class="number" aria-hidden="true">${n + 1}</span><span class="when">${time(sentence.atMs, 1)}</span><span class="what">${sentence.context && markup`<em>before</em> `}${sentence.text}</span></button></li>`,
  )}</ol>`
}
${hasEvidence({ order, log }) && markup`<p class="more"><a class="to-evidence" data-finding="${place}" href="#evidence-${place + 1}">${evidenceTitle({ order, log })}</a></p>`}
</article>`;
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? '';
}

function replay({ replay: command }: ReportRun): Html | undefined {
  if (command === undefined) return undefined;
  return markup`<div class="replay"><span>Run it again</span><code id="command">${command}</code><button type="button" class="quiet" id="copy" hidden>Copy</button></div>`;
}

function timeline({ data, leftOut }: PageModel): Html {
  const empty = data.endMs <= data.startMs && data.calls.startMs.length === 0;
  if (empty) return markup`<section class="card"><h2>Timeline</h2><p class="empty">Nothing was recorded.</p></section>`;
  const tools = [
    ['out', '−', 'Zoom out (−)'],
    ['in', '+', 'Zoom in (+)'],
    ['all', 'Whole run', 'Show the whole run (0)'],
  ] as const;
  return markup`<section class="card timeline" aria-labelledby="timeline-heading">
<div class="bar"><h2 id="timeline-heading">Timeline</h2>
<div class="tools" role="toolbar" aria-label="What is in view">
${tools.map(([name, text, title]) => markup`<button type="button" data-tool="${name}" title="${title}" aria-label="${title}">${text}</button>`)}
${data.findings.length > 0 && markup`<button type="button" data-tool="focus" class="strong" title="Show what failed (F)">What failed</button>`}
</div>
<div class="legend" aria-label="How calls are drawn" id="legend"></div>
</div>
${leftOut.length > 0 && markup`<p class="note" id="left-out">Not shown: ${leftOut.join(', ')}. The limits are in docs/report.md.</p>`}
<noscript><p class="note">The timeline is drawn by a script within this page. Everything else can be read without it.</p></noscript>
<div class="chart" id="chart" hidden>
<canvas id="overview" aria-hidden="true"></canvas>
<canvas id="axis" aria-hidden="true"></canvas>
<div id="stage" tabindex="0" role="application" aria-roledescription="timeline" aria-label="Timeline of the run" aria-describedby="keys"><canvas id="tracks" aria-hidden="true"></canvas><div id="marks"></div><div id="spacer"></div></div>
<canvas id="plots" aria-hidden="true"></canvas>
<div id="tip" role="tooltip" hidden></div>
</div>
<p id="selected" class="selected" aria-live="polite">Point at anything to read what it is. Click a call to keep it here.</p>
<p id="keys" class="keys"><kbd>←</kbd> <kbd>→</kbd> move · <kbd>↑</kbd> <kbd>↓</kbd> scroll · <kbd>+</kbd> <kbd>−</kbd> zoom · <kbd>0</kbd> whole run · <kbd>J</kbd> <kbd>K</kbd> next and previous call of a client${data.findings.length > 0 && markup` · <kbd>F</kbd> what failed · <kbd>.</kbd> <kbd>,</kbd> its next and previous step`} · drag to move, <kbd>Ctrl</kbd> and wheel to zoom</p>
</section>`;
}

function verdicts({ verdicts: list }: ReportRun): Html {
  if (list.length === 0) {
    return markup`<section class="card"><h2>Verdicts</h2><p class="empty">None: the run ended before its history could be judged.</p></section>`;
  }
  const rows = list.map(({ checker, valid, counts }) => {
    const { sign, word, name } = markOf(valid);
    const counted = Object.entries(counts).filter(([what]) => what !== 'broken');
    return markup`<tr><th scope="row">${checker}</th><td class="mark ${name}"><span aria-hidden="true">${sign}</span> ${word}</td><td class="counts">${counted.map(([what, count]) => markup`<span>${words(what)} <b>${whole(count)}</b></span>`)}</td></tr>`;
  });
  return markup`<section class="card"><h2>Verdicts</h2><p class="summary">Together: ${markOf(worst(list)).word}.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Verdicts"><table><thead><tr><th scope="col">checker</th><th scope="col">verdict</th><th scope="col">what it looked at</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function faults(run: ReportRun): Html {
  const { history, begun, struck, idle = [], leftOut } = run;
  const counts = new Map(begun);
  if (begun === undefined) {
    for (const event of history) {
      if (event.type === 'fault' && event.phase === 'begin')
        counts.set(event.fault, (counts.get(event.fault) ?? 0) + 1);
    }
  }
  const kinds = [...counts].toSorted(([, left], [, right]) => right - left);
  const effects = [...(struck ?? [])].filter(([, count]) => count > 0);
  return markup`<section class="card"><h2>Faults</h2>
${kinds.length === 0 ? markup`<p class="empty">No fault began.</p>` : chips(kinds)}
${effects.length > 0 && markup`<h3>What of them took effect</h3>${chips(effects)}`}
${idle.length > 0 && markup`<p class="warning">Scheduled, and did nothing: ${idle.join(', ')}.</p>`}
${leftOut !== undefined && leftOut.size > 0 && markup`<p class="warning">Left out, for want of what they need: ${[...leftOut].map(([kind, lacks]) => `${kind} (${lacks.join(', ')})`).join(', ')}.</p>`}
${outages(run)}
</section>`;
}

function outages({ outages: kinds }: ReportRun): Html | undefined {
  if (kinds === undefined || Object.keys(kinds).length === 0) return undefined;
  const rows = Object.entries(kinds).map(
    ([kind, { count, median, p90, max }]) =>
      markup`<tr><th scope="row">${kind}</th>${[median, p90, max].map((ms) => markup`<td class="figure">${whole(ms)}</td>`)}<td class="figure">${whole(count)}</td></tr>`,
  );
  return markup`<h3>Longest time without service around them, ms</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Longest time without service"><table><thead><tr><th scope="col">fault</th>${['median', 'p90', 'longest', 'clients'].map((name) => markup`<th scope="col" class="figure">${name}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

function chips(counts: readonly (readonly [string, number])[]): Html {
  return markup`<ul class="chips">${counts.map(([name, count]) => markup`<li>${name} <b>${whole(count)}</b></li>`)}</ul>`;
}

function scenario({ scenario: plan }: ReportRun): Html | undefined {
  if (plan === undefined) return undefined;
  const { faults: schedule, ...rest } = plan;
  const lines = schedule.map((fault) => JSON.stringify(fault)).join('\n');
  return markup`<section class="card"><h2>Scenario</h2>
<p class="summary">${plan.servers} servers, ${plan.clients.length} clients, ${plan.locks} locks, ${schedule.length} faults over ${duration(plan.durationMs)}; seed ${plan.seed}.</p>
<details><summary>Plan</summary><pre>${JSON.stringify(rest, undefined, 2)}</pre></details>
<details><summary>Schedule of the faults</summary><pre>${lines === '' ? 'none' : lines}</pre></details></section>`;
}

/** `beliefOverlaps` as `belief overlaps`. */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
