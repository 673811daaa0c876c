/** The timeline: what is in view, what is highlighted and selected, and how the reader changes it. Draws at most once a frame. */

import type { FocusPoint, PageData } from '../timeline/page-data.ts';
import { laneOf } from '../timeline/columns.ts';
import { layOut, rowOf, scrollFor, type Layout, type Row } from '../timeline/rows.ts';
import { around, clamp, msAt, pan, spanOf, wholeRun, zoom, type View } from '../timeline/viewport.ts';
import { listenToControls, type Action } from './controls.ts';
import { byId, prepared } from './elements.ts';
import { drawAxis, Overview } from './draw/frames.ts';
import { listenToOverview } from './overview.ts';
import { Pins } from './pins.ts';
import { describeCall, hitAt, type Hit } from './hits.ts';
import { drawLegend } from './draw/legend.ts';
import { drawPlots } from './draw/plots.ts';
import { palette } from './theme.ts';
import { GUTTER, type Scene } from './draw/scene.ts';
import { drawTracks } from './draw/tracks.ts';

const ZOOM = 1.6;
const PAN = 0.2;
const LEAST_STAGE = 240;
/** What stands below the tracks must be in the window, too. */
const BELOW_STAGE = 300;
const SCROLL = 60;
const PIN_MARGIN = 28;
/** A press that moves less is a click. */
const CLICK = 4;

export class Timeline {
  readonly #data: PageData;
  readonly #layout: Layout;
  readonly #bounds: View;
  readonly #stage = byId('stage', HTMLElement);
  readonly #tracks = byId('tracks', HTMLCanvasElement);
  readonly #axis = byId('axis', HTMLCanvasElement);
  readonly #plots = byId('plots', HTMLCanvasElement);
  readonly #overviewCanvas = byId('overview', HTMLCanvasElement);
  readonly #overview = new Overview(this.#overviewCanvas);
  readonly #pins = new Pins((step) => this.#goTo(step));
  readonly #tip = byId('tip', HTMLElement);
  #colours = palette();
  #view: View;
  #finding: number | undefined;
  #step = 0;
  #selected: number | undefined;
  #drawing = false;

  constructor(data: PageData) {
    this.#data = data;
    this.#layout = layOut(data);
    this.#bounds = wholeRun(data);
    this.#view = this.#bounds;
    new ResizeObserver(() => this.#resize()).observe(byId('chart', HTMLElement));
    listenToControls(this.#stage, this.#actions, (finding, step) => this.#focus(finding, step));
    this.#stage.addEventListener('scroll', () => {
      this.#hideTip();
      this.#invalidate();
    });
    this.#listenToPointer();
    listenToOverview(this.#overviewCanvas, this.#bounds, {
      view: () => this.#view,
      centre: (ms) => this.#centre(ms),
      show: (view) => this.#show(view),
    });
    this.#resize();
  }

  /** With what failed in view, if anything did. */
  open(): void {
    if (this.#data.findings.some(({ points }) => points.length > 0)) this.#focus(0);
    const below = this.#pins.bottom + PIN_MARGIN - window.innerHeight;
    // As little as shows all of them: what broke stands above, in words, and is to stay.
    if (below > 0) window.scrollBy({ top: below, behavior: 'instant' });
  }

  recolour(): void {
    this.#colours = palette();
    drawLegend(this.#colours);
    this.#invalidate();
  }

  // What is in view

  #show(view: View): void {
    this.#view = clamp(view, this.#bounds);
    this.#hideTip();
    this.#invalidate();
  }

  #focus(finding: number, step = 0): void {
    const points = this.#data.findings[finding]?.points ?? [];
    if (points.length === 0) return;
    if (finding !== this.#finding) {
      this.#finding = finding;
      this.#view = around(
        points.flatMap(({ atMs, endMs }) => [atMs, endMs]),
        this.#bounds,
      );
      const rows = points.flatMap((point) => rowOf(this.#layout, point) ?? []);
      this.#stage.scrollTop = scrollFor(rows, this.#stage.clientHeight, this.#layout);
      this.#pins.show(points, finding);
      for (const section of document.querySelectorAll<HTMLElement>('.evidence')) {
        section.hidden = Number(section.dataset['finding']) !== finding;
      }
    }
    this.#goTo(step);
    this.#draw();
  }

  /** Brings one step of what failed into view. */
  #goTo(step: number): void {
    const points = this.#points;
    this.#step = Math.min(Math.max(step, 0), points.length - 1);
    const point = points[this.#step];
    if (point === undefined) return;
    if (point.atMs < this.#view.fromMs || point.atMs > this.#view.toMs) this.#centre(point.atMs);
    const row = rowOf(this.#layout, point);
    if (row !== undefined) this.#reveal(row);
    for (const button of document.querySelectorAll<HTMLElement>('.step')) {
      const isCurrent =
        Number(button.dataset['finding']) === this.#finding && Number(button.dataset['step']) === this.#step;
      button.classList.toggle('current', isCurrent);
      if (isCurrent) button.setAttribute('aria-current', 'step');
      else button.removeAttribute('aria-current');
    }
    this.#say({ title: `Step ${point.number}`, lines: [point.text] });
    this.#invalidate();
  }

  #reveal({ top, height }: Row): void {
    const { scrollTop, clientHeight } = this.#stage;
    if (top >= scrollTop && top + height <= scrollTop + clientHeight) return;
    this.#stage.scrollTop = top - clientHeight / 2;
  }

  #centre(ms: number): void {
    const half = spanOf(this.#view) / 2;
    this.#show({ fromMs: ms - half, toMs: ms + half });
  }

  #select(call: number): void {
    this.#selected = call;
    const startMs = this.#data.calls.startMs[call] ?? 0;
    if (startMs < this.#view.fromMs || startMs > this.#view.toMs) this.#centre(startMs);
    const { lane, row } = laneOf(this.#data, call);
    const at = rowOf(this.#layout, { track: 'lane', place: lane, row });
    if (at !== undefined) this.#reveal(at);
    this.#say(describeCall(this.#data, call));
    this.#invalidate();
  }

  /** The next or previous call on its row; the first one in view, when none is selected. */
  #selectNeighbour(by: 1 | -1): void {
    const { calls } = this.#data;
    if (this.#selected === undefined) {
      const first = calls.startMs.findIndex((ms) => ms >= this.#view.fromMs);
      if (first >= 0) this.#select(first);
      return;
    }
    const next = this.#selected + by;
    const row = laneOf(this.#data, this.#selected);
    if (next < 0 || next >= calls.startMs.length) return;
    const { lane } = laneOf(this.#data, next);
    if (lane === row.lane) this.#select(next);
  }

  get #points(): readonly FocusPoint[] {
    return this.#finding === undefined ? [] : (this.#data.findings[this.#finding]?.points ?? []);
  }

  // Drawing

  #resize(): void {
    const room = window.innerHeight - BELOW_STAGE;
    const height = Math.min(this.#layout.height, Math.max(room, LEAST_STAGE));
    this.#stage.style.height = `${height + 2}px`;
    this.#stage.style.overflowY = height < this.#layout.height ? 'scroll' : 'hidden';
    // At once: what has no height yet cannot be scrolled.
    this.#tracks.style.height = `${height}px`;
    byId('spacer', HTMLElement).style.height = `${Math.max(this.#layout.height - height, 0)}px`;
    this.#invalidate();
  }

  #invalidate(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  #draw(): void {
    const width = this.#stage.clientWidth;
    if (width <= GUTTER) return;
    const height = this.#stage.clientHeight;
    const scene: Scene = {
      data: this.#data,
      layout: this.#layout,
      view: this.#view,
      colours: this.#colours,
      width,
      height,
      scrollTop: this.#stage.scrollTop,
      points: this.#points,
      locks: this.#finding === undefined ? [] : (this.#data.findings[this.#finding]?.locks ?? []),
      selected: this.#selected,
    };
    drawTracks(prepared(this.#tracks, width, height), scene);
    this.#overview.draw(scene);
    drawAxis(this.#axis, scene);
    drawPlots(this.#plots, scene);
    this.#pins.place(scene, this.#step);
  }

  // What is under the pointer, or was chosen

  #say({ title, lines }: Hit): void {
    const name = document.createElement('b');
    name.textContent = title;
    byId('selected', HTMLElement).replaceChildren(name, document.createElement('br'), lines.join(' · '));
  }

  #tipAt(hit: Hit, x: number, y: number): void {
    const chart = byId('chart', HTMLElement).getBoundingClientRect();
    const name = document.createElement('b');
    name.textContent = hit.title;
    this.#tip.replaceChildren(
      name,
      ...hit.lines.flatMap((line, place) => (place === 0 ? [line] : [document.createElement('br'), line])),
    );
    this.#tip.hidden = false;
    const { offsetWidth, offsetHeight } = this.#tip;
    const left = Math.min(Math.max(x - chart.left + 14, 0), chart.width - offsetWidth);
    const above = y - chart.top - offsetHeight - 12;
    this.#tip.style.left = `${left}px`;
    this.#tip.style.top = `${above < 0 ? y - chart.top + 18 : above}px`;
  }

  #hideTip(): void {
    this.#tip.hidden = true;
  }

  #hit(event: MouseEvent): Hit | undefined {
    const { left, top } = this.#tracks.getBoundingClientRect();
    const y = event.clientY - top + this.#stage.scrollTop;
    return hitAt(this.#data, this.#layout, this.#view, this.#stage.clientWidth, event.clientX - left, y);
  }

  // What the reader does

  get #actions(): Readonly<Record<Action, () => void>> {
    const middle = (): number => (this.#view.fromMs + this.#view.toMs) / 2;
    return {
      in: () => this.#show(zoom(this.#view, this.#bounds, 1 / ZOOM, middle())),
      out: () => this.#show(zoom(this.#view, this.#bounds, ZOOM, middle())),
      all: () => this.#show(this.#bounds),
      left: () => this.#show(pan(this.#view, this.#bounds, -PAN)),
      right: () => this.#show(pan(this.#view, this.#bounds, PAN)),
      up: () => this.#stage.scrollBy(0, -SCROLL),
      down: () => this.#stage.scrollBy(0, SCROLL),
      focus: () => this.#showFailure(),
      nextStep: () => this.#focus(this.#finding ?? 0, this.#step + 1),
      previousStep: () => this.#focus(this.#finding ?? 0, this.#step - 1),
      nextCall: () => this.#selectNeighbour(1),
      previousCall: () => this.#selectNeighbour(-1),
      hideTip: () => this.#hideTip(),
    };
  }

  /** Also where it is in hand already, and was moved out of view. */
  #showFailure(): void {
    const finding = this.#finding ?? 0;
    this.#finding = undefined;
    this.#focus(finding);
  }

  #listenToPointer(): void {
    const stage = this.#stage;
    let from: { readonly x: number; readonly y: number; readonly view: View; readonly scrollTop: number } | undefined;
    const moved = (event: PointerEvent): boolean =>
      from !== undefined && Math.hypot(event.clientX - from.x, event.clientY - from.y) > CLICK;
    stage.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || event.target instanceof HTMLButtonElement) return;
      from = { x: event.clientX, y: event.clientY, view: this.#view, scrollTop: stage.scrollTop };
    });
    stage.addEventListener('pointermove', (event) => {
      if (from === undefined) {
        const hit = event.target instanceof HTMLButtonElement ? undefined : this.#hit(event);
        if (hit === undefined) this.#hideTip();
        else this.#tipAt(hit, event.clientX, event.clientY);
        return;
      }
      if (!moved(event)) return;
      stage.setPointerCapture(event.pointerId);
      stage.classList.add('dragging');
      const share = (from.x - event.clientX) / (stage.clientWidth - GUTTER);
      stage.scrollTop = from.scrollTop + from.y - event.clientY;
      this.#show(pan(from.view, this.#bounds, share));
    });
    stage.addEventListener('pointerup', (event) => {
      const clicked = from !== undefined && !moved(event);
      from = undefined;
      stage.classList.remove('dragging');
      const hit = clicked ? this.#hit(event) : undefined;
      if (hit?.call !== undefined) this.#select(hit.call);
      else if (hit !== undefined) this.#say(hit);
    });
    stage.addEventListener('pointercancel', () => {
      from = undefined;
      stage.classList.remove('dragging');
    });
    stage.addEventListener('pointerleave', () => this.#hideTip());
    stage.addEventListener(
      'wheel',
      (event) => {
        const plot = stage.clientWidth - GUTTER;
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          const x = event.clientX - this.#tracks.getBoundingClientRect().left - GUTTER;
          this.#show(zoom(this.#view, this.#bounds, 1.0025 ** event.deltaY, msAt(this.#view, plot, Math.max(x, 0))));
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          event.preventDefault();
          this.#show(pan(this.#view, this.#bounds, (event.deltaX || event.deltaY) / plot));
        }
      },
      { passive: false },
    );
  }
}
