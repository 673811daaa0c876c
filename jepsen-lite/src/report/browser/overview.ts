/** The frame over the whole run: takes hold of it where it is pressed, or brings it there. */

import { msAt, spanOf, type View } from '../timeline/viewport.ts';
import { GUTTER } from './draw/scene.ts';

interface Framed {
  readonly view: () => View;
  readonly centre: (ms: number) => void;
  readonly show: (view: View) => void;
}

export function listenToOverview(canvas: HTMLCanvasElement, bounds: View, { view, centre, show }: Framed): void {
  const at = (event: PointerEvent): number => {
    const x = event.clientX - canvas.getBoundingClientRect().left - GUTTER;
    return msAt(bounds, canvas.clientWidth - GUTTER, x);
  };
  let heldMs: number | undefined;
  canvas.addEventListener('pointerdown', (event) => {
    const ms = at(event);
    if (ms < view().fromMs || ms > view().toMs) centre(ms);
    heldMs = ms - view().fromMs;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (heldMs === undefined) return;
    const fromMs = at(event) - heldMs;
    show({ fromMs, toMs: fromMs + spanOf(view()) });
  });
  for (const type of ['pointerup', 'pointercancel'] as const) {
    canvas.addEventListener(type, () => (heldMs = undefined));
  }
}
