/** Loaded before a program under test: makes the changes of a planted bug as the program loads its files, and notes which it did. */

import { appendFileSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import { MessageChannel } from 'node:worker_threads';

import type { EditsByUrl } from './product.ts';

interface PlantRequest {
  readonly edits: EditsByUrl;
  /** Takes the URL of each file that was changed, one a line. */
  readonly loaded: string;
}

const { edits, loaded } = JSON.parse(readFileSync(process.env['HOLDFAST_PLANT'] ?? '', 'utf8')) as PlantRequest;
const { port1, port2 } = new MessageChannel();
port1.on('message', (url: string) => appendFileSync(loaded, `${url}\n`));
// A program that has nothing left to do ends, as it would without this.
port1.unref();
register('./load-hooks.js', import.meta.url, { data: { edits, port: port2 }, transferList: [port2] });
