/**
 * A barrier: whoever comes waits until so many have come, and then all go on together. Each is an ephemeral node, so that one who dies while
 * it waits does not count once its session has ended. Who completes the number opens the barrier, for good: a name is for one use.
 *
 *   node examples/dist/barrier.js NAME HOW_MANY     prints "waiting" and, when all are there, "go"
 */

import { connect, NodeExistsError } from '@holdfast/client';

const OPEN = 'open';
const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [name = '', wanted = ''] = process.argv.slice(2);
const howMany = Number(wanted);
if (!/^[\w-]+$/.test(name) || !Number.isSafeInteger(howMany) || howMany < 1) {
  console.error('say a name of letters, digits, "_" and "-", and how many must come: a whole number from 1 on');
  process.exit(64);
}

const client = await connect({ servers, label: `barrier ${name}`, sessionTimeoutMs: 3_000 });
try {
  const directory = `/examples-barrier-${name}`;
  await unlessThere(client.nodes.create(directory));
  await client.nodes.create(`${directory}/waits-`, '', { ephemeral: true, sequential: true });
  console.log('waiting');
  const { names, events } = await client.nodes.childrenAndWatch(directory);
  for (let present = names; !present.includes(OPEN);) {
    if (present.length >= howMany) {
      await unlessThere(client.nodes.create(`${directory}/${OPEN}`));
      break;
    }
    await events.next();
    present = (await client.nodes.children(directory)).names;
  }
  await events.return();
  console.log('go');
} finally {
  await client.close();
}

async function unlessThere(created: Promise<unknown>): Promise<void> {
  await created.catch((error: unknown) => {
    if (!(error instanceof NodeExistsError)) throw error;
  });
}
