/** The numbered discs at the steps of what failed: buttons over the canvas, so that the keyboard and screen readers find them. */

import type { FocusPoint } from '../timeline/page-data.ts';
import { rowOf } from '../timeline/rows.ts';
import { xOf } from '../timeline/viewport.ts';
import { GUTTER, type Scene } from './draw/scene.ts';
import { byId } from './elements.ts';

/** Before the beginning of what it marks. */
const BEFORE = 13;
const APART = 21;
/** For what happened to the run as a whole. */
const TOP = 14;

export class Pins {
  readonly #marks = byId('marks', HTMLElement);
  readonly #choose: (step: number) => void;
  #pins: readonly HTMLButtonElement[] = [];

  constructor(choose: (step: number) => void) {
    this.#choose = choose;
  }

  /** The lower edge of the lowest one that is in view, in the window. */
  get bottom(): number {
    const shown = this.#pins.filter((pin) => !pin.hidden);
    return Math.max(...shown.map((pin) => pin.getBoundingClientRect().bottom));
  }

  show(points: readonly FocusPoint[], finding: number): void {
    this.#pins = points.map(({ number, text }, step) => {
      const pin = document.createElement('button');
      const sentence = document.querySelector(`.step[data-finding="${finding}"][data-step="${step}"]`);
      pin.type = 'button';
      pin.className = sentence?.classList.contains('context') === true ? 'pin context' : 'pin';
      pin.textContent = String(number);
      pin.title = text;
      pin.setAttribute('aria-label', `Step ${number}: ${text}`);
      pin.addEventListener('click', () => this.#choose(step));
      return pin;
    });
    this.#marks.replaceChildren(...this.#pins);
  }

  /** Beside one another where several are at one place. */
  place({ layout, view, width, points }: Scene, current: number): void {
    const taken: { readonly x: number; readonly y: number }[] = [];
    for (const [step, point] of points.entries()) {
      const pin = this.#pins[step];
      if (pin === undefined) continue;
      const row = rowOf(layout, point);
      const y = row === undefined ? TOP : row.top + (row.kind === 'lane' ? 8.5 : 9.5);
      let x = GUTTER + xOf(view, width - GUTTER, point.atMs) - BEFORE;
      while (taken.some((other) => Math.abs(other.y - y) < APART - 5 && Math.abs(other.x - x) < APART)) x -= APART;
      taken.push({ x, y });
      pin.hidden = x < GUTTER - 4 || x > width;
      pin.classList.toggle('current', step === current);
      pin.style.left = `${x}px`;
      pin.style.top = `${y}px`;
    }
  }
}
