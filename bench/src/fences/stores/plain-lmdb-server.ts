/** LMDB behind the HTTP server that `fenced-kvd` has, with no fence and no buckets: `PUT /KEY`. Arguments: the directory and the port. */

import { serve } from '@hono/node-server';
import { Hono } from 'hono';

import { openPlainLmdb } from './lmdb.ts';

const [, , directory = '', port = ''] = process.argv;
const database = openPlainLmdb(directory);
const app = new Hono();
app.put('/:key', async (context) => {
  const value = new Uint8Array(await context.req.arrayBuffer());
  await database.put(Buffer.from(context.req.param('key')), value);
  return context.body(null, 204);
});
app.get('/health', (context) => context.text('ok'));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) });
