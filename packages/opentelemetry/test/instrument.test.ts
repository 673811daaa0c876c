import { context, trace, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { testEnsemble, type TestEnsemble } from '@holdfast/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { instrumentHoldfast, type InstrumentationOptions } from '../src/index.ts';

let ensemble: TestEnsemble;

beforeAll(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  ensemble = await testEnsemble({ servers: 1 });
});
afterAll(async () => {
  context.disable();
  await ensemble?.close();
});

function instrumented() {
  const spans = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const instrumentation = instrumentHoldfast({ tracerProvider, meterProvider });
  onTestFinished(async () => {
    instrumentation.stop();
    await meterProvider.shutdown();
  });
  const measured = async (name: string) => {
    await reader.forceFlush();
    const all =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
    return all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
  };
  return { spans, tracer: tracerProvider.getTracer('test'), instrumentation, measured };
}

describe('instrumented locks', () => {
  it('show side by side how long they were waited for and held, below the span of the caller', async () => {
    const { spans, tracer, measured } = instrumented();
    const client = await ensemble.connect();
    const caller = tracer.startSpan('work');
    const token = await context.with(trace.setSpan(context.active(), caller), () =>
      client.lock('orders').withLock((held) => held.token, { waitMs: 5_000 }),
    );
    caller.end();
    const [acquire, hold] = spans.getFinishedSpans();
    expect(acquire).toMatchObject({
      name: 'holdfast.acquire',
      parentSpanContext: { spanId: caller.spanContext().spanId },
      attributes: {
        'holdfast.lock': 'orders',
        'holdfast.locks': ['orders'],
        'holdfast.mode': 'exclusive',
        'holdfast.session': client.sessionId,
        'holdfast.wait_limit_ms': 5_000,
        'holdfast.outcome': 'held',
        'holdfast.token': token,
      },
    });
    expect(hold).toMatchObject({
      name: 'holdfast.hold',
      parentSpanContext: { spanId: caller.spanContext().spanId },
      links: [{ context: { spanId: acquire?.spanContext().spanId } }],
      attributes: { 'holdfast.lock': 'orders', 'holdfast.token': token, 'holdfast.end': 'released' },
      status: { code: SpanStatusCode.UNSET },
    });
    expect(await measured('holdfast.client.acquire.duration')).toMatchObject([
      { attributes: { 'holdfast.outcome': 'held' }, value: { count: 1 } },
    ]);
    expect(await measured('holdfast.client.hold.duration')).toMatchObject([
      { attributes: { 'holdfast.end': 'released' }, value: { count: 1 } },
    ]);
    expect(await measured('holdfast.client.holds')).toMatchObject([{ value: 0 }]);
  });

  it('name all locks that are taken at once, and say how each is held and with how many permits', async () => {
    const { spans, measured } = instrumented();
    const client = await ensemble.connect();
    await client.locks(['from', 'to']).withLock(() => undefined);
    await client
      .semaphore('imports', { permits: 4 })
      .lock({ permits: 3 })
      .withLock(() => undefined);
    const prices = client.readWriteLock('prices');
    await prices.read().withLock(() => undefined);
    await prices.write().withLock((held) => held.downgrade());
    const seen = spans
      .getFinishedSpans()
      .map(({ name, attributes: of }) => [
        name.replace('holdfast.', ''),
        of['holdfast.locks'],
        of['holdfast.mode'],
        of['holdfast.permits'],
      ]);
    const both = (locks: string[], mode: string, permits?: number) => [
      ['acquire', locks, mode, permits],
      ['hold', locks, mode, permits],
    ];
    expect(seen).toEqual([
      ...both(['from', 'to'], 'exclusive'),
      ...both(['imports'], 'shared', 3),
      ...both(['prices'], 'read'),
      // The span says how it was granted.
      ...both(['prices'], 'write'),
    ]);
    expect(spans.getFinishedSpans()[0]?.attributes['holdfast.lock']).toBe('from');
    const modes = ['exclusive', 'shared', 'read', 'write'];
    for (const metric of ['acquire.duration', 'hold.duration', 'holds']) {
      const points = await measured(`holdfast.client.${metric}`);
      expect(points.map(({ attributes }) => attributes['holdfast.mode'])).toEqual(modes);
    }
  });

  it('show that a lock was lost, and that an acquire failed', async () => {
    const { spans, measured } = instrumented();
    const client = await ensemble.connect();
    const held = await client.lock('a').acquire();
    const other = await ensemble.connect();
    const waiting = client.lock('b').acquire();
    const blocked = other.lock('a').tryAcquire();
    await blocked;
    await waiting;
    await ensemble.expire(client);
    expect(held.loss?.reason).toBe('expired');
    await expect(client.lock('c').acquire()).rejects.toMatchObject({ code: 'SESSION_EXPIRED' });
    const finished = spans.getFinishedSpans();
    const ends = finished.filter(({ name }) => name === 'holdfast.hold');
    expect(ends.map(({ attributes, status }) => [attributes['holdfast.end'], status.code])).toEqual([
      ['expired', SpanStatusCode.ERROR],
      ['expired', SpanStatusCode.ERROR],
    ]);
    const failed = finished.find(({ attributes }) => attributes['holdfast.outcome'] === 'failed');
    expect(failed).toMatchObject({ status: { code: SpanStatusCode.ERROR }, events: [{ name: 'exception' }] });
    expect(finished.map(({ attributes }) => attributes['holdfast.outcome'])).toContain('lockHeld');
    expect(await measured('holdfast.client.events')).toContainEqual(
      expect.objectContaining({ attributes: { 'holdfast.event': 'expired' }, value: 1 }),
    );
  });

  it('are instrumented no more when that is stopped', async () => {
    const { spans, instrumentation } = instrumented();
    const client = await ensemble.connect();
    const held = await client.lock('kept').acquire();
    instrumentation.stop();
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(['holdfast.acquire', 'holdfast.hold']);
    await held.release();
    await client.lock('more').withLock(() => undefined);
    expect(spans.getFinishedSpans()).toHaveLength(2);
    instrumentation.stop();
  });

  it('refuse an option that there is not', () => {
    expect(() => instrumentHoldfast({ tracer: 5 } as InstrumentationOptions)).toThrow(
      /has no option tracer; it has tracerProvider/,
    );
  });
});
