/**
 * A span for each acquire, `holdfast.acquire`, and one for each hold, `holdfast.hold`. Both are children of the span that was active when the
 * acquire was called, so that a trace shows side by side how long a lock was waited for and how long it was held. The hold links to its acquire.
 * Both say which locks, all of them where several are taken at once, and how they are held.
 */

import type { AcquireMessage, HoldMessage } from '@holdfast/client';
import {
  context,
  SpanKind,
  SpanStatusCode,
  type Attributes,
  type Context,
  type Exception,
  type Span,
  type Tracer,
} from '@opentelemetry/api';

interface Acquiring {
  readonly span: Span;
  /** That of the call. */
  readonly parent: Context;
}

export class LockSpans {
  readonly #tracer: Tracer;
  /** An acquire that began before there was a listener has no span, and its hold neither. */
  readonly #acquires = new WeakMap<AcquireMessage, Acquiring>();
  readonly #holds = new Map<HoldMessage, Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  acquireStarted(message: AcquireMessage): void {
    const parent = context.active();
    const { waitMs } = message;
    const attributes = {
      ...attributesOf(message),
      ...(Number.isFinite(waitMs) && { 'holdfast.wait_limit_ms': waitMs }),
    };
    const span = this.#tracer.startSpan('holdfast.acquire', { kind: SpanKind.CLIENT, attributes }, parent);
    this.#acquires.set(message, { span, parent });
  }

  acquireEnded(message: AcquireMessage): void {
    const span = this.#acquires.get(message)?.span;
    if (span === undefined) return;
    const { outcome, token, error } = message;
    if (outcome !== undefined) span.setAttribute('holdfast.outcome', outcome);
    if (token !== undefined) span.setAttribute('holdfast.token', token);
    if (outcome === 'failed') {
      span.recordException(exceptionOf(error));
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
    }
    span.end();
  }

  holdStarted(message: HoldMessage): void {
    const acquiring = this.#acquires.get(message.acquire);
    if (acquiring === undefined) return;
    const attributes = { ...attributesOf(message), 'holdfast.token': message.token };
    const links = [{ context: acquiring.span.spanContext() }];
    const span = this.#tracer.startSpan('holdfast.hold', { attributes, links }, acquiring.parent);
    this.#holds.set(message, span);
  }

  holdEnded(message: HoldMessage): void {
    const span = this.#holds.get(message);
    if (span === undefined) return;
    this.#holds.delete(message);
    const { reason } = message;
    if (reason !== undefined) span.setAttribute('holdfast.end', reason);
    if (reason === 'expired' || reason === 'revoked') {
      span.setStatus({ code: SpanStatusCode.ERROR, message: `the lock was lost: ${reason}` });
    }
    span.end();
  }

  /** Ends what has not ended. */
  stop(): void {
    for (const span of this.#holds.values()) span.end();
    this.#holds.clear();
  }
}

/** What an acquire and its hold have in common. */
function attributesOf({ lock, locks, mode, permits, sessionId }: AcquireMessage | HoldMessage): Attributes {
  return {
    'holdfast.lock': lock,
    'holdfast.locks': [...locks],
    'holdfast.mode': mode,
    ...(permits !== undefined && { 'holdfast.permits': permits }),
    'holdfast.session': sessionId,
  };
}

function exceptionOf(error: unknown): Exception {
  return error instanceof Error ? error : String(error);
}
