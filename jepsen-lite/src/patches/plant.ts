/**
 * Loaded before a program under test: makes the changes of each request as the program loads its files, and notes there which it did.
 */

import { appendFileSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import { delimiter } from 'node:path';
import { MessageChannel } from 'node:worker_threads';

import type { EditsByUrl } from './product.ts';

interface PlantRequest {
  readonly edits: EditsByUrl;
  /** Takes the URL of each file that was changed, one a line. */
  readonly loaded: string;
}

const requests = (process.env['HOLDFAST_PLANT'] ?? '')
  .split(delimiter)
  .map((file) => JSON.parse(readFileSync(file, 'utf8')) as PlantRequest);
const urls = new Set(requests.flatMap(({ edits }) => Object.keys(edits)));
const edits = Object.fromEntries([...urls].map((url) => [url, requests.flatMap((each) => each.edits[url] ?? [])]));
const { port1, port2 } = new MessageChannel();
port1.on('message', (url: string) => {
  for (const request of requests) if (url in request.edits) appendFileSync(request.loaded, `${url}\n`);
});
// A program that has nothing left to do ends, as it would without this.
port1.unref();
register('./load-hooks.js', import.meta.url, { data: { edits, port: port2 }, transferList: [port2] });
