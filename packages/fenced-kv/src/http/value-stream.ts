/**
 * A large value on its way to a client: a chunk is read when the one before it has gone, so that a slow client takes the memory of two. One
 * that takes none for a while is cut off, since the value that it reads cannot be removed meanwhile.
 */

import type { ValueChunks } from '../keys/large-values.ts';
import { VALUE_CHUNK_BYTES, VALUE_CHUNK_TIMEOUT_MS } from '../limits.ts';
import type { Hold } from './body-reader.ts';

export interface ValueStreamDeps {
  /** Released at the end. */
  readonly hold: Hold;
  /** The store could not read on; the connection is cut, since the head of the answer has gone. */
  failed(error: unknown): void;
  /** @default 30,000 */
  readonly chunkTimeoutMs?: number | undefined;
}

/** One that is being written, and one that waits. @throws EngineError when there is no memory for them; the value is closed then */
export function streamValue(chunks: ValueChunks, deps: ValueStreamDeps): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { hold, chunkTimeoutMs = VALUE_CHUNK_TIMEOUT_MS } = deps;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    chunks.close();
    hold.release();
  };
  try {
    hold.take(2 * VALUE_CHUNK_BYTES);
  } catch (error) {
    end();
    throw error;
  }
  let index = 0;
  return new ReadableStream({
    pull(controller) {
      clearTimeout(timer);
      try {
        const chunk = chunks.chunk(index);
        index += 1;
        if (chunk === undefined) {
          end();
          controller.close();
          return;
        }
        controller.enqueue(new Uint8Array(chunk));
      } catch (error) {
        end();
        deps.failed(error);
        throw error;
      }
      timer = setTimeout(() => {
        end();
        controller.error(new Error(`no chunk of the value was taken for ${chunkTimeoutMs} ms`));
      }, chunkTimeoutMs);
    },
    cancel: end,
  });
}
