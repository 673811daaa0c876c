/** The script of the page of a run. */

import type { PageData } from '../timeline/page-data.ts';
import { byId, maybe } from './elements.ts';
import { setUpTheme } from './theme.ts';
import { Timeline } from './timeline.ts';

const COPIED_FOR_MS = 1_500;

const chart = maybe('chart', HTMLElement);
let timeline: Timeline | undefined;
if (chart !== undefined) {
  const data = JSON.parse(byId('data', HTMLScriptElement).textContent ?? '') as PageData;
  chart.hidden = false;
  timeline = new Timeline(data);
}
setUpTheme(() => timeline?.recolour());
timeline?.open();

const copy = maybe('copy', HTMLButtonElement);
// Not there where the page was opened from a place that the browser does not trust.
if (copy !== undefined && navigator.clipboard !== undefined) {
  copy.hidden = false;
  copy.addEventListener('click', () => {
    void copied().then((text) => {
      copy.textContent = text;
      setTimeout(() => (copy.textContent = 'Copy'), COPIED_FOR_MS);
    });
  });
}

async function copied(): Promise<string> {
  try {
    await navigator.clipboard.writeText(byId('command', HTMLElement).textContent ?? '');
    return 'Copied';
  } catch {
    return 'Select it by hand';
  }
}
