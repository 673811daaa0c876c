/**
 * Loaded before a program of a live run: what it dials on another host is dialled by a proxy. The program sees a dial as ever: it lasts
 * until the proxy has an answer, is refused where the proxy was refused, and hangs where nothing answers. Other dials are left alone.
 */

import { randomUUID } from 'node:crypto';
import { Socket, type TcpSocketConnectOpts } from 'node:net';
import { DETOUR_VARIABLE, type DetourTable, type DialAnswer, type Opening } from './protocol.ts';

/** Stands for the proxy's address while the proxy dials; never looked up. */
const PLACEHOLDER = 'detour.invalid';

type Connect = (this: Socket, ...args: unknown[]) => Socket;
type Answered = (error: NodeJS.ErrnoException | null, address: string, family: number) => void;

const table = JSON.parse(process.env[DETOUR_VARIABLE] ?? '') as DetourTable;
// Called on the socket that dials, as the original is.
// oxlint-disable-next-line typescript/unbound-method
const direct = Socket.prototype.connect as Connect;

Socket.prototype.connect = function detoured(this: Socket, ...args: unknown[]): Socket {
  const options = optionsOf(args);
  const to = options === undefined ? undefined : table.hosts[`${options.host}:${options.port}`];
  if (options === undefined || to === undefined) return direct.apply(this, args);
  const ticket = randomUUID();
  const lookup = (_name: string, _options: unknown, answered: Answered): void =>
    ask(this, ticket, to, options, answered);
  const { host: _host, ...rest } = options;
  const changed = { ...rest, host: PLACEHOLDER, port: table.proxy.port, family: 4, autoSelectFamily: false, lookup };
  if (Array.isArray(args[0])) args[0][0] = changed;
  else args.splice(0, typeof args[0] === 'object' ? 1 : 2, changed);
  direct.apply(this, args);
  // It waits until the connection is there, and nothing can be written before it.
  this.write(`${JSON.stringify({ join: ticket } satisfies Opening)}\n`);
  return this;
} as Socket['connect'];

/** Of any of the forms that `connect` may be called in; undefined: no TCP, or nothing that the table can hold. */
function optionsOf([first, second]: readonly unknown[]): TcpSocketConnectOpts | undefined {
  if (Array.isArray(first)) return first[0] as TcpSocketConnectOpts;
  if (typeof first === 'object') return first as TcpSocketConnectOpts;
  return typeof second === 'string' ? { port: Number(first), host: second } : undefined;
}

function ask(dialler: Socket, ticket: string, to: string, target: TcpSocketConnectOpts, answered: Answered): void {
  const { proxy, from } = table;
  const host = target.host ?? '';
  const port = Number(target.port);
  const asker = new Socket();
  let done = false;
  const answer = (code: string | undefined): void => {
    if (done) return;
    done = true;
    asker.destroy();
    if (code === undefined) answered(null, proxy.host, 4);
    else answered(dialError(code, host, port), '', 4);
  };
  dialler.once('close', () => asker.destroy());
  let heard = '';
  asker.setEncoding('utf8');
  asker.on('data', (text: string) => {
    heard += text;
    if (heard.endsWith('\n')) answer((JSON.parse(heard) as DialAnswer).code);
  });
  // A proxy that is gone: as a host that is.
  asker.on('error', ({ code }: NodeJS.ErrnoException) => answer(code ?? 'ECONNRESET'));
  asker.on('close', () => answer('ECONNRESET'));
  direct.call(asker, { host: proxy.host, port: proxy.port });
  asker.write(`${JSON.stringify({ dial: ticket, from, to, host, port } satisfies Opening)}\n`);
}

/** As Node.js makes them. */
function dialError(code: string, address: string, port: number): NodeJS.ErrnoException {
  const details = { code, syscall: 'connect', address, port };
  return Object.assign(new Error(`connect ${code} ${address}:${port}`), details);
}
