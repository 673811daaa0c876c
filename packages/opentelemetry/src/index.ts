/**
 * Spans and metrics of every Holdfast client of the process.
 *
 * @example
 * import { instrumentHoldfast } from '@holdfast/opentelemetry';
 *
 * const instrumentation = instrumentHoldfast(); // after the providers are registered
 *
 * @packageDocumentation
 */

export { instrumentHoldfast, type Instrumentation, type InstrumentationOptions } from './instrument.ts';
