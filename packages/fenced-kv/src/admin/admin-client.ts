/** The other end of the socket of a running server, for the commands of an operator. */

import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { userInfo } from 'node:os';

import { describeError } from '../engines/engine-error.ts';
import { OPERATOR_HEADER } from './admin-handler.ts';
import { adminSocketPath } from './admin-socket.ts';

/** How long a command waits for an answer, or for more of one. A group may be in the middle of a fail-over. */
const ANSWER_TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024;

/** No server takes commands there. */
export class NoAdminSocketError extends Error {
  constructor(path: string, cause: unknown) {
    super(`no server takes commands at ${path} (${describeError(cause)})`, { cause });
    this.name = 'NoAdminSocketError';
  }
}

/** The server refused the command, or could not carry it out. Its message is for the operator. */
export class RefusedByServerError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RefusedByServerError';
    this.code = code;
  }
}

type Json = Readonly<Record<string, unknown>>;

/** The commands that a running server takes, of one data directory. Reject with {@link NoAdminSocketError} and {@link RefusedByServerError}. */
export class AdminClient {
  readonly #path: string;

  constructor(data: string) {
    this.#path = adminSocketPath(data);
  }

  async bind(bucket: string, lock: string): Promise<{ readonly previous: string | null }> {
    const { previous } = await this.#post(`/admin/v1/buckets/${encodeURIComponent(bucket)}/bind`, { lock });
    return { previous: typeof previous === 'string' ? previous : null };
  }

  async resetFence(
    bucket: string,
    body: { readonly to: number; readonly from?: number | undefined },
  ): Promise<{ readonly highest: number; readonly previous: number }> {
    const answer = await this.#post(`/admin/v1/buckets/${encodeURIComponent(bucket)}/reset-fence`, body);
    return { highest: Number(answer['highest']), previous: Number(answer['previous']) };
  }

  /** The bytes of a backup. What ends without an error may have been cut: its reader finds that. */
  async *backup(): AsyncGenerator<Uint8Array> {
    const answer = await this.#ask('GET', '/admin/v1/backup');
    if (answer.statusCode !== 200) throw refusal(await readJson(answer));
    try {
      for await (const chunk of answer as AsyncIterable<Uint8Array>) yield chunk;
    } catch (error) {
      throw new RefusedByServerError(
        'CUT',
        'the server ended the backup before its end; its log says why, then take another one',
        { cause: error },
      );
    }
  }

  async #post(path: string, body: Json): Promise<Json> {
    const answer = await this.#ask('POST', path, JSON.stringify(body));
    const json = await readJson(answer);
    if (answer.statusCode !== 200) throw refusal(json);
    return json;
  }

  async #ask(method: string, path: string, body?: string): Promise<IncomingMessage> {
    const headers: Record<string, string> = { host: 'localhost', connection: 'close', [OPERATOR_HEADER]: operator() };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const asked = request({ socketPath: this.#path, method, path, headers, timeout: ANSWER_TIMEOUT_MS });
    asked.once('timeout', () => asked.destroy(new Error(`nothing came for ${ANSWER_TIMEOUT_MS} ms`)));
    const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
    asked.end(body);
    try {
      const [answer] = await answered;
      return answer;
    } catch (error) {
      throw connects(error)
        ? new RefusedByServerError(
            'CUT',
            `the server did not answer (${describeError(error)}): what was asked for may have happened; give the command again`,
            { cause: error },
          )
        : new NoAdminSocketError(this.#path, error);
    }
  }
}

/** Whether somebody listened there. */
function connects(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return !['ENOENT', 'ECONNREFUSED', 'EACCES', 'EPERM', 'ENOTDIR', 'EINVAL', 'ENAMETOOLONG', 'ENOTSOCK'].includes(
    String(code),
  );
}

async function readJson(answer: IncomingMessage): Promise<Json> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw new Error(`it has more than ${MAX_ANSWER_BYTES} bytes`);
      chunks.push(chunk);
    }
    const json: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof json === 'object' && json !== null) return { ...json };
    throw new Error('it is no object');
  } catch (error) {
    throw new RefusedByServerError(
      'CUT',
      `the answer of the server cannot be read (${describeError(error)}): what was asked for may have happened; give the command again`,
      { cause: error },
    );
  }
}

function refusal({ code, message }: Json): RefusedByServerError {
  return new RefusedByServerError(String(code), String(message));
}

/** For the log of the server. */
function operator(): string {
  try {
    return userInfo().username.replaceAll(/[^\x20-\x7e]/g, '?');
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
