/** JSON for scripts: one document on standard output. */

import type { Environment } from '../environment.ts';
import { printableJson } from './text.ts';

export function writeJson(outside: Environment, value: unknown): void {
  outside.writeOut(`${printableJson(JSON.stringify(value, null, 2))}\n`);
}
