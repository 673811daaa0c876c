/**
 * A configuration that reloads itself: it is read and watched in one step, so that no change falls between the two, and read again when it
 * changes. A server that dies meanwhile is not noticed.
 *
 *   node examples/dist/config.js              prints the configuration and each one after it, until it is interrupted
 *   node examples/dist/config.js set TEXT     sets it
 */

import { connect, NodeExistsError, NotFoundError, type NodeContent } from '@holdfast/client';

const PATH = '/examples-config';
const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [command, text] = process.argv.slice(2);
if (command !== undefined && (command !== 'set' || text === undefined)) {
  console.error('say nothing, to follow the configuration, or "set" and a text');
  process.exit(64);
}

const client = await connect({ servers, label: 'config' });
try {
  if (text === undefined) await follow();
  else await put(text);
} finally {
  await client.close();
}

async function follow(): Promise<void> {
  const { node, events } = await client.nodes.getAndWatch(PATH);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void events.return());
  show(node);
  for await (const { type } of events) {
    // What it is by now may be newer than what the event was about: the next event then shows it once more.
    if (type !== 'children') show(await read());
  }
}

async function read(): Promise<NodeContent | undefined> {
  return await client.nodes.get(PATH).catch((error: unknown) => {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  });
}

async function put(value: string): Promise<void> {
  await client.nodes.create(PATH, value).catch(async (error: unknown) => {
    if (!(error instanceof NodeExistsError)) throw error;
    await client.nodes.set(PATH, value);
  });
}

function show(node: NodeContent | undefined): void {
  console.log(
    node === undefined ? 'there is no configuration' : `configuration: ${new TextDecoder().decode(node.data)}`,
  );
}
