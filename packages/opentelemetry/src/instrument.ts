/** Listens to what clients publish, and hands it to spans and metrics; as long as it does not, clients publish nothing. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { DIAGNOSTICS_CHANNELS, type AcquireMessage, type ClientEventMessage, type HoldMessage } from '@holdfast/client';
import { metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import { LockMetrics } from './lock-metrics.ts';
import { LockSpans } from './lock-spans.ts';

const NAME = '@holdfast/opentelemetry';
const VERSION = '0.1.0';

/**
 * Where spans and metrics go.
 *
 * @example
 * const instrumentation = instrumentHoldfast({ tracerProvider });
 */
export interface InstrumentationOptions {
  /** Where spans go. @default the global one of @opentelemetry/api */
  readonly tracerProvider?: TracerProvider;
  /** Where metrics go. @default the global one of @opentelemetry/api */
  readonly meterProvider?: MeterProvider;
}

/**
 * Made by {@link instrumentHoldfast}.
 *
 * @example
 * const instrumentation = instrumentHoldfast();
 * instrumentation.stop();
 */
export interface Instrumentation {
  /** Listens no more. Spans of holds that have not ended are ended now. A second call does nothing. */
  stop(): void;
}

/**
 * From now on every acquire and every hold of every client of this process is a span, and is counted. Call it once, when the providers are
 * registered; two of them make two spans of each.
 *
 * @example
 * const instrumentation = instrumentHoldfast();
 */
export function instrumentHoldfast(options: InstrumentationOptions = {}): Instrumentation {
  const known: Readonly<Record<keyof InstrumentationOptions, true>> = { tracerProvider: true, meterProvider: true };
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined) {
    throw new TypeError(`instrumentHoldfast has no option ${unknown}; it has ${Object.keys(known).join(', ')}`);
  }
  const spans = new LockSpans((options.tracerProvider ?? trace).getTracer(NAME, VERSION));
  const meters = new LockMetrics((options.meterProvider ?? metrics).getMeter(NAME, VERSION));
  const listeners: readonly (readonly [string, (message: unknown) => void])[] = [
    listener<AcquireMessage>(DIAGNOSTICS_CHANNELS.acquireStart, (message) => {
      spans.acquireStarted(message);
      meters.acquireStarted(message);
    }),
    listener<AcquireMessage>(DIAGNOSTICS_CHANNELS.acquireEnd, (message) => {
      spans.acquireEnded(message);
      meters.acquireEnded(message);
    }),
    listener<HoldMessage>(DIAGNOSTICS_CHANNELS.holdStart, (message) => {
      spans.holdStarted(message);
      meters.holdStarted(message);
    }),
    listener<HoldMessage>(DIAGNOSTICS_CHANNELS.holdEnd, (message) => {
      spans.holdEnded(message);
      meters.holdEnded(message);
    }),
    listener<ClientEventMessage>(DIAGNOSTICS_CHANNELS.event, ({ event }) => meters.event(event.type)),
  ];
  for (const [name, listen] of listeners) subscribe(name, listen);
  return {
    stop: () => {
      for (const [name, listen] of listeners) unsubscribe(name, listen);
      spans.stop();
    },
  };
}

/** Under each name there are messages of one type only. */
function listener<T>(name: string, listen: (message: T) => void): readonly [string, (message: unknown) => void] {
  return [name, (message) => listen(message as T)];
}
