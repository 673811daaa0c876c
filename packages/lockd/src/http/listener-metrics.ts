/** Metrics of the clients' port itself: its sockets, what they have not finished, and which it has closed of itself. */

import { LISTENER_REFUSALS, type ListenerLoad } from '@holdfast/runtime';
import { Counter, Gauge, type Registry } from 'prom-client';

/** `load`: undefined while nothing listens yet. */
export function addListenerMetrics(registry: Registry, load: () => ListenerLoad | undefined): void {
  const registers = [registry];
  new Gauge({
    name: 'holdfast_client_sockets',
    help: "Sockets of the clients' port, upgraded or not",
    registers,
    collect() {
      this.set(load()?.sockets ?? 0);
    },
  });
  new Gauge({
    name: 'holdfast_unfinished_bytes',
    help: 'Bytes of frames from clients that are not whole yet',
    registers,
    collect() {
      this.set(load()?.unfinishedBytes ?? 0);
    },
  });
  new Counter({
    name: 'holdfast_sockets_closed_total',
    help: "Sockets that the clients' port closed of itself, and HTTP requests that it refused, by reason",
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const reason of LISTENER_REFUSALS) this.inc({ reason }, load()?.refused.get(reason) ?? 0);
    },
  });
}
