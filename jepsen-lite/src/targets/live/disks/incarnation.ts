import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the batches of a data directory's log are marked with. @throws when the directory has none, or cannot be read */
export function incarnationOf(directory: string): string {
  const identity = JSON.parse(readFileSync(join(directory, 'identity.json'), 'utf8')) as {
    readonly incarnation: string;
  };
  return identity.incarnation;
}
