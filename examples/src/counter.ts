/**
 * A counter that many processes raise at once without losing an addition. Nobody locks anything: a write names the version that was read,
 * and whoever comes second is refused, reads again and adds to that.
 *
 *   node examples/dist/counter.js [HOW_OFTEN]     prints the count after each addition
 */

import { BadVersionError, connect, NodeExistsError } from '@holdfast/client';

const PATH = '/examples-counter';
const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const howOften = Number(process.argv[2] ?? '1');
if (!Number.isSafeInteger(howOften) || howOften < 1) {
  console.error(`how often is ${JSON.stringify(process.argv[2])}; say a whole number from 1 on`);
  process.exit(64);
}

const client = await connect({ servers, label: 'counter' });
try {
  await client.nodes.create(PATH, '0').catch((error: unknown) => {
    if (!(error instanceof NodeExistsError)) throw error;
  });
  for (let n = 0; n < howOften; n += 1) console.log(await raise());
} finally {
  await client.close();
}

async function raise(): Promise<number> {
  for (;;) {
    const { data, stat } = await client.nodes.get(PATH);
    const next = Number(new TextDecoder().decode(data)) + 1;
    try {
      await client.nodes.set(PATH, String(next), { version: stat.version });
      return next;
    } catch (error) {
      // Somebody else was quicker. What they wrote is there to be read now.
      if (!(error instanceof BadVersionError)) throw error;
    }
  }
}
