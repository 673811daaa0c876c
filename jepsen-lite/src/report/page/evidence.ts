/** What is behind a finding, as plain text: how far an order of the operations came, and the Raft log around it. Below the timeline. */

import type { Broken } from '../model/findings.ts';
import type { PageModel } from '../model/page-model.ts';
import { markup, type Html } from './html.ts';

type Evidence = Pick<Broken, 'order' | 'log'>;

export function hasEvidence({ order, log }: Evidence): boolean {
  return order !== undefined || log !== undefined;
}

export function evidenceTitle({ order, log }: Evidence): string {
  const parts = [
    ...(order === undefined ? [] : ['the longest order that explains answers']),
    ...(log === undefined ? [] : [`the Raft log around index ${log.index}`]),
  ].join(', and ');
  return `${parts.charAt(0).toUpperCase()}${parts.slice(1)}`;
}

/** All of it, one section a finding; the script shows those of the finding that is in view. */
export function evidence({ broken }: PageModel): Html | undefined {
  if (!broken.some(hasEvidence)) return undefined;
  return markup`${broken.map((each, place) => hasEvidence(each) && sectionOf(each, place))}`;
}

function sectionOf(each: Broken, place: number): Html {
  const { by, order, log } = each;
  return markup`<section class="card evidence" id="evidence-${place + 1}" data-finding="${place}" aria-labelledby="evidence-${place + 1}-heading">
<h2 id="evidence-${place + 1}-heading">${evidenceTitle(each)} <span class="by">${by}</span></h2>
<div class="panels">
${order !== undefined && panel('order', 'Order', order)}
${log !== undefined && panel('log', 'Raft log; > marks entries that the finding names', log.text)}
</div></section>`;
}

function panel(name: 'order' | 'log', title: string, text: string): Html {
  return markup`<div class="panel"><h3>${title}</h3><pre data-panel="${name}" tabindex="0" role="region" aria-label="${title}">${text}</pre></div>`;
}
