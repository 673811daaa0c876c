/** How a request is answered that was refused or failed: its status, its code, and whether a write may have happened. */

import type { Logger } from '@holdfast/runtime';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

import { AuthorityError } from '../confirmation.ts';
import { describeError, EngineError } from '../engines/engine-error.ts';
import { RefusedError } from '../refusal.ts';
import { MediaTypeError } from './request.ts';
import { ENGINE_STATUS, REFUSAL_STATUS } from './status.ts';
import { NotPrimaryError } from './store-source.ts';

export interface ErrorAnswer {
  readonly status: ContentfulStatusCode;
  readonly body: { readonly code: string; readonly message: string };
  readonly headers: Record<string, string>;
}

/** What is overloaded or cut off now may not be in a moment. */
const AGAIN = { 'retry-after': '1' };

export function answerOf(
  error: Error,
  { request, logger }: { readonly request: Request; readonly logger: Logger },
): ErrorAnswer {
  const { message } = error;
  if (error instanceof RefusedError) {
    const { code, ...details } = error.refusal;
    return answer(REFUSAL_STATUS[code], { code, message, ...details });
  }
  if (error instanceof MediaTypeError) return answer(415, { code: 'UNSUPPORTED_MEDIA_TYPE', message });
  if (error instanceof NotPrimaryError) {
    const { code, primary, epoch, indeterminate } = error;
    return answer(503, { code, message, indeterminate, primary, epoch }, AGAIN);
  }
  if (error instanceof AuthorityError) {
    return answer(503, { code: error.code, message, indeterminate: false }, AGAIN);
  }
  if (error instanceof EngineError) {
    const { code, indeterminate } = error;
    if (code === 'DAMAGED_DATA') logger.error({ err: error }, 'damaged data');
    return answer(ENGINE_STATUS[code], { code, message, indeterminate }, code === 'OVERLOADED' ? AGAIN : {});
  }
  if (request.signal.aborted) {
    // The client went away in the middle of its body: nothing was written, and nobody reads this.
    return answer(400, { code: 'INVALID_ARGUMENT', message: 'the request ended before its body did' });
  }
  logger.error({ err: error, method: request.method, path: new URL(request.url).pathname }, 'request failed');
  const internal = `internal error: ${describeError(error)}`;
  return answer(500, { code: 'INTERNAL', message: internal, indeterminate: true });
}

function answer(
  status: ContentfulStatusCode,
  body: ErrorAnswer['body'] & Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
): ErrorAnswer {
  return { status, body, headers };
}
