/**
 * What `GET /metrics` answers, rendered at most once a second however many ask: whoever comes meanwhile shares it. A rendering goes
 * metric by metric and leaves the event loop to everything else in between. One that fails is not kept; the next request begins anew.
 */

import type { Clock, HttpTextResponse } from '@holdfast/runtime';
import type { Registry } from 'prom-client';

/** How old a page may be that is answered again. */
export const METRICS_MAX_AGE_MS = 1_000;
/** A rendering gives the event loop away after so long. */
const SLICE_MS = 1;

export class MetricsPage {
  readonly #create: (renderings: () => number) => Registry;
  readonly #clock: Clock;
  #registry: Registry | undefined;
  #page: HttpTextResponse | Promise<HttpTextResponse> | undefined;
  #finishedAtMs = 0;
  #renderings = 0;

  /** `create` is called when the first request comes, and is given what counts the renderings. */
  constructor(create: (renderings: () => number) => Registry, clock: Clock) {
    this.#create = create;
    this.#clock = clock;
  }

  get(): HttpTextResponse | Promise<HttpTextResponse> {
    if (this.#page !== undefined && this.#clock.monotonicMs() < this.#finishedAtMs + METRICS_MAX_AGE_MS) {
      return this.#page;
    }
    // Whoever comes while it is rendered waits for it, too.
    this.#finishedAtMs = Infinity;
    const rendering = this.#render();
    this.#page = rendering;
    rendering.then(
      (page) => {
        this.#page = page;
        this.#finishedAtMs = this.#clock.monotonicMs();
      },
      () => {
        this.#page = undefined;
      },
    );
    return rendering;
  }

  async #render(): Promise<HttpTextResponse> {
    this.#renderings += 1;
    this.#registry ??= this.#create(() => this.#renderings);
    const registry = this.#registry;
    const parts: string[] = [];
    let sliceEndsAtMs = this.#clock.monotonicMs() + SLICE_MS;
    for (const { name } of registry.getMetricsAsArray()) {
      if (this.#clock.monotonicMs() >= sliceEndsAtMs) {
        await new Promise<void>((resolve) => this.#clock.afterPoll(resolve));
        sliceEndsAtMs = this.#clock.monotonicMs() + SLICE_MS;
      }
      parts.push(await registry.getSingleMetricAsString(name));
    }
    return { status: 200, contentType: registry.contentType, body: `${parts.join('\n\n')}\n` };
  }
}
