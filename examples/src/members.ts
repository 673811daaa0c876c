/**
 * Group membership: each member is an ephemeral node, and everybody hears who comes and who goes. One that leaves is gone at once, one that
 * dies when its session has ended.
 *
 *   node examples/dist/members.js GROUP NAME     prints the members, and again whenever they change, until it is interrupted
 */

import { connect, NodeExistsError } from '@holdfast/client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [group = '', name = ''] = process.argv.slice(2);
if (!/^[\w-]+$/.test(group) || !/^[\w-]+$/.test(name)) {
  console.error('say a group and a name, each of letters, digits, "_" and "-"');
  process.exit(64);
}

const client = await connect({ servers, label: `${name} of ${group}`, sessionTimeoutMs: 3_000 });
try {
  const directory = `/examples-group-${group}`;
  await client.nodes.create(directory).catch((error: unknown) => {
    if (!(error instanceof NodeExistsError)) throw error;
  });
  try {
    await client.nodes.create(`${directory}/${name}`, '', { ephemeral: true });
    const { names, events } = await client.nodes.childrenAndWatch(directory);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void events.return());
    show(names);
    for await (const { type } of events) {
      if (type === 'children') show((await client.nodes.children(directory)).names);
    }
  } catch (error) {
    if (!(error instanceof NodeExistsError)) throw error;
    console.error(`${group} has a member ${name} already; take another name`);
    process.exitCode = 65;
  }
} finally {
  await client.close();
}

function show(names: readonly string[]): void {
  console.log(`members: ${names.join(', ')}`);
}
