/**
 * What an operator may ask a running server for, as a fetch-style handler: to bind a bucket to a lock, to reset a fence, and for a backup. It
 * is served on a socket of its own (admin-socket.ts) that the clients' port knows nothing of. In a group the primary does what changes
 * something, as an entry of the log. Each request that is carried out or refused is a line of the log, with who says to have made it.
 */

import { Hono } from 'hono';
import type { Context } from 'hono';
import type { Logger } from '@holdfast/runtime';

import type { Snapshot } from '../engines/engine.ts';
import { answerOf } from '../http/answer-error.ts';
import { BodyReader } from '../http/body-reader.ts';
import { parseBindBody, parseResetBody } from '../http/body.ts';
import type { HttpHandler } from '../http/handler.ts';
import { assertMediaType, assertNoBody } from '../http/request.ts';
import { groupError } from '../http/source-facts.ts';
import type { Served, StoreSource } from '../http/store-source.ts';
import { MAX_JSON_BODY_BYTES } from '../limits.ts';
import { AdminError, checkReset } from './admin-error.ts';
import { streamBackup } from './backup-stream.ts';

/** What an operator's requests are carried out on. */
export interface AdminTarget {
  readonly source: StoreSource;
  /**
   * Everything that is acknowledged, as one state. Rejects with {@link AdminError} where this replica cannot tell, with NotPrimaryError and
   * with EngineError.
   */
  snapshot(): Promise<Snapshot>;
}

/** Who makes a request, as the client says: whoever may connect is the user of the server, or root. */
export const OPERATOR_HEADER = 'operator';
const MAX_OPERATOR_LENGTH = 128;
const BUCKET = '/admin/v1/buckets/:bucket';
const JSON_TYPE = 'application/json';

interface Asked {
  readonly what: string;
  readonly bucket?: string;
  readonly operator: string;
}

/** Answers a request; never rejects. */
export function createAdminHandler(target: AdminTarget, { logger }: { readonly logger: Logger }): HttpHandler {
  const app = new Hono();
  const bodies = new BodyReader();
  const backups = { underWay: false };
  app.post(`${BUCKET}/bind`, async (c) => {
    const asked = askedOf(c, 'bind');
    const { bucket } = asked;
    assertMediaType(c.req.raw.headers, JSON_TYPE);
    return await bodies.withBody(c.req.raw, MAX_JSON_BODY_BYTES, async (body) => {
      const { lock } = parseBindBody(body);
      const { store, epoch } = target.source.present();
      const { previous } = await store.bind(bucket, lock);
      logger.warn({ ...asked, ...inEpoch(epoch), lock, previous }, 'an operator bound a bucket to a lock');
      return c.json({ bucket, lock, previous });
    });
  });
  app.post(`${BUCKET}/reset-fence`, async (c) => {
    const asked = askedOf(c, 'reset-fence');
    const { bucket } = asked;
    assertMediaType(c.req.raw.headers, JSON_TYPE);
    return await bodies.withBody(c.req.raw, MAX_JSON_BODY_BYTES, async (body) => {
      const { to, from } = parseResetBody(body);
      const { store, epoch } = target.source.present();
      const { highest, previous } = await store.resetFence(bucket, to, checkReset(bucket, { to, from }));
      logger.warn({ ...asked, ...inEpoch(epoch), highest, previous }, 'an operator reset the fence of a bucket');
      return c.json({ bucket, highest, previous });
    });
  });
  app.get('/admin/v1/backup', async (c) => {
    const asked = askedOf(c, 'backup');
    assertNoBody(c.req.raw.headers);
    if (backups.underWay) {
      throw new AdminError(
        'BACKUP_UNDER_WAY',
        'a backup of this server is being taken already; wait for it, or end its command',
      );
    }
    backups.underWay = true;
    try {
      return c.body(await beginBackup(asked), 200, { 'content-type': 'application/octet-stream' });
    } catch (error) {
      backups.underWay = false;
      throw error;
    }
  });
  app.notFound((c) => c.json({ code: 'NOT_FOUND', message: `there is nothing at ${c.req.method} ${c.req.path}` }, 404));
  app.onError((error, c) => {
    const { what, bucket, operator } = askedOf(c, c.req.path);
    const said = groupError(error, target.source);
    logger.warn({ what, bucket, operator, err: said }, "an operator's request was refused");
    if (said instanceof AdminError) return c.json({ code: said.code, message: said.message }, said.status);
    const { status, body, headers } = answerOf(said, { request: c.req.raw, logger });
    return c.json(body, status, headers);
  });
  return (request) => app.fetch(request);

  async function beginBackup(asked: Asked): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const snapshot = await target.snapshot();
    logger.info(asked, 'a backup begins');
    return streamBackup(snapshot, {
      ended(outcome) {
        backups.underWay = false;
        if (outcome instanceof Error) logger.error({ ...asked, err: outcome }, 'a backup was not taken to its end');
        else logger.info({ ...asked, ...outcome }, 'a backup was taken');
      },
    });
  }
}

function askedOf(c: Context, what: string): Asked & { readonly bucket: string } {
  const operator = (c.req.header(OPERATOR_HEADER) ?? 'unknown').slice(0, MAX_OPERATOR_LENGTH);
  return { what, bucket: c.req.param('bucket') ?? '', operator };
}

function inEpoch(epoch: Served['epoch']): { readonly epoch?: number } {
  return epoch === undefined ? {} : { epoch };
}
