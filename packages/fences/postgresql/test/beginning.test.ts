import { EventEmitter } from 'node:events';
import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { fence, type FenceOptions } from '../src/index.ts';

/** A pool of one client, whose server refuses what matches. */
class Server {
  readonly sent: string[] = [];
  refuses: { readonly text: RegExp; readonly code: string } | undefined;
  readonly #client = Object.assign(new EventEmitter(), {
    query: async (text: string): Promise<unknown> => {
      this.sent.push(text);
      if (this.refuses?.text.test(text) === true) throw Object.assign(new Error(text), { code: this.refuses.code });
      return { command: text, rows: [] };
    },
    escapeLiteral: (text: string) => `'${text.replaceAll("'", "''")}'`,
    release: () => undefined,
  });
  readonly pool = { totalCount: 1, connect: async () => this.#client } as unknown as Pool;

  /** What the transaction was begun with. */
  async began(scope: string, options: FenceOptions = {}): Promise<readonly string[]> {
    const before = this.sent.length;
    await fence(this.pool, scope, { token: 7 }, async () => undefined, options);
    return this.sent.slice(before).filter((text) => text.startsWith('BEGIN'));
  }
}

const WATCH = 'SET LOCAL client_connection_check_interval = 1000; ';
const REST = `SET LOCAL holdfast.scopes = '["jobs"]'; SELECT holdfast.fence_verify('1', 'jobs', '7', '7')`;
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 10000; ';

describe('what a transaction begins with', () => {
  it('is one text, whose settings end with it', async () => {
    expect(await new Server().began('jobs')).toEqual([`${BEGIN}${WATCH}${REST}`]);
  });

  it('has names as they are, quoted', async () => {
    const [text] = await new Server().began(`it's "$1"`);
    expect(text).toContain(`SET LOCAL holdfast.scopes = '["it''s \\"$1\\""]'`);
    expect(text).toContain(`fence_verify('1', 'it''s "$1"', '7', '7')`);
  });

  it('looks at the row of the token once more above READ COMMITTED', async () => {
    const [text] = await new Server().began('jobs', { isolation: 'serializable', idleMs: 500 });
    expect(text).toMatch(/^BEGIN ISOLATION LEVEL SERIALIZABLE; .*fence_enter\('1', 'jobs', '7', '7', '500'\)$/);
  });

  it.each(['42704', '22023'])('does without the watch of clients on a server that has none (%s)', async (code) => {
    const server = new Server();
    server.refuses = { text: /client_connection_check_interval/, code };
    expect(await server.began('jobs')).toEqual([`${BEGIN}${WATCH}${REST}`, `${BEGIN}${REST}`]);
    expect(server.sent).toContain('ROLLBACK');
    // It is known of the pool from then on.
    expect(await server.began('jobs')).toEqual([`${BEGIN}${REST}`]);
  });

  it('is refused where the server refuses it without the watch as well', async () => {
    const server = new Server();
    server.refuses = { text: /^BEGIN/, code: '22023' };
    await expect(server.began('jobs')).rejects.toMatchObject({ name: 'FenceError', code: 'RESOURCE' });
  });
});
