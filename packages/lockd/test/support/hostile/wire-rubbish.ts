/** What arrives on a port that is no WebSocket of well-formed frames: noise, HTTP that nobody asked for, frames that break RFC 6455. */

import type { Random } from '@holdfast/runtime';
import { HostileBytes } from './hostile-bytes.ts';

export interface Rubbish {
  readonly kind: string;
  readonly bytes: Uint8Array;
  /**
   * `ended`: the server must end the connection, though nobody else does. `cut`: this side ends it, in the middle of what it
   * says.
   */
  readonly ending: 'ended' | 'cut';
}

const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9 } as const;
const FIN = 0x80;
const MASKED = 0x80;

export class WireRubbish {
  readonly #bytes: HostileBytes;
  readonly #host: string;

  /** `address` is the server's own, so that its upgrades are taken. */
  constructor(address: string, random: Random) {
    this.#host = address;
    this.#bytes = new HostileBytes(random);
  }

  next(): Rubbish {
    return this.#bytes.chance(0.5) ? this.#http() : this.#webSocket();
  }

  /** A WebSocket handshake, and what follows it in the same segment. */
  upgrade(...frames: readonly Uint8Array[]): Uint8Array {
    const headers = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const key = Buffer.from(this.#bytes.random.bytes(16)).toString('base64');
    const head = this.#request('GET / HTTP/1.1', [...headers, `Sec-WebSocket-Key: ${key}`]);
    return Buffer.concat([Buffer.from(head, 'latin1'), ...frames]);
  }

  #http(): Rubbish {
    const { random } = this.#bytes;
    const ended = (kind: string, text: string): Rubbish => ({
      kind,
      bytes: Buffer.from(text, 'latin1'),
      ending: 'ended',
    });
    const close = 'Connection: close';
    switch (random.integer(13)) {
      case 0:
        return { kind: 'noise', bytes: Buffer.concat([this.#bytes.noise(), Buffer.from('\r\n\r\n')]), ending: 'ended' };
      case 1:
        return ended('method', this.#request(`${this.#bytes.pick(['POST', 'DELETE', 'OPTIONS'])} / HTTP/1.1`, [close]));
      case 2:
        return ended(
          'body',
          `${this.#request('PUT /status HTTP/1.1', [close, 'Content-Length: 40'])}${'x'.repeat(40)}`,
        );
      case 3:
        return ended('long head', this.#request('GET / HTTP/1.1', [`X: ${'x'.repeat(20_000)}`]));
      case 4:
        return ended('foreign host', `GET / HTTP/1.1\r\nHost: evil.example\r\n${close}\r\n\r\n`);
      case 5:
        return ended(
          'origin',
          this.#request('GET / HTTP/1.1', ['Upgrade: websocket', 'Connection: Upgrade', 'Origin: null']),
        );
      case 6:
        return ended('other upgrade', this.#request('GET / HTTP/1.1', ['Upgrade: h2c', 'Connection: Upgrade']));
      case 7:
        return ended('tunnel', this.#request('CONNECT example.org:443 HTTP/1.1', []));
      case 8:
        return ended(
          'contradicting lengths',
          this.#request('GET / HTTP/1.1', ['Content-Length: 4', 'Transfer-Encoding: chunked']),
        );
      case 9:
        return ended(
          'page of another site',
          this.#request('GET /status HTTP/1.1', ['Sec-Fetch-Site: cross-site', close]),
        );
      case 10:
        return ended('shortest requests', `${'GET / HTTP/1.1\r\n\r\n'.repeat(400)}GET / HTTP/1.1\r\n${close}\r\n\r\n`);
      case 11: {
        const flood = this.#request('GET /metrics HTTP/1.1', []).repeat(100);
        return ended('flood of requests', `${flood}${this.#request('GET /metrics HTTP/1.1', [close])}`);
      }
      default: {
        const requests = this.#request('GET /status?pipelined HTTP/1.1', []).repeat(random.integer(20));
        return ended('pipelined', `${requests}${this.#request('GET /nothing HTTP/1.1', [close])}`);
      }
    }
  }

  #webSocket(): Rubbish {
    const { random } = this.#bytes;
    const noise = this.#bytes.noise(100);
    const ended = (kind: string, ...frames: Uint8Array[]): Rubbish => ({
      kind,
      bytes: this.upgrade(...frames),
      ending: 'ended',
    });
    switch (random.integer(9)) {
      case 0:
        return ended('text frame', this.frame(OPCODE.text, noise));
      case 1:
        return ended('frame without a mask', Buffer.concat([Uint8Array.of(FIN | OPCODE.binary, noise.length), noise]));
      case 2:
        return ended('reserved bits', this.frame(0x70 | OPCODE.binary, noise));
      case 3:
        return ended('reserved opcode', this.frame(this.#bytes.pick([3, 7, 11, 15]), noise));
      case 4:
        return ended('continuation of nothing', this.frame(OPCODE.continuation, noise));
      case 5:
        return ended('long ping', this.frame(OPCODE.ping, new Uint8Array(200)));
      case 6:
        return ended('close with a code that there is not', this.frame(OPCODE.close, Uint8Array.of(0, 7)));
      case 7:
        return ended('frame over the limit', longFrameHead(this.#bytes.pick([17 * 1024 * 1024, 2 ** 31, 2 ** 52])));
      default: {
        const whole = this.frame(OPCODE.binary, noise);
        const part = whole.slice(0, 1 + random.integer(whole.length - 1));
        return { kind: 'half a frame', bytes: this.upgrade(part), ending: 'cut' };
      }
    }
  }

  /** A final frame, masked as those of clients must be; of at most 65,535 bytes. */
  frame(opcode: number, payload: Uint8Array): Uint8Array {
    const mask = this.#bytes.random.bytes(4);
    const length =
      payload.length < 126 ? [MASKED | payload.length] : [MASKED | 126, payload.length >> 8, payload.length & 0xff];
    const masked = payload.map((byte, n) => byte ^ (mask[n % 4] ?? 0));
    return Buffer.concat([Uint8Array.of(FIN | opcode, ...length), mask, masked]);
  }

  #request(line: string, headers: readonly string[]): string {
    return [line, `Host: ${this.#host}`, ...headers, '', ''].join('\r\n');
  }
}

/** The beginning of a frame that would have so many bytes. */
function longFrameHead(bytes: number): Uint8Array {
  const head = new Uint8Array(14);
  head[0] = FIN | OPCODE.binary;
  head[1] = MASKED | 127;
  new DataView(head.buffer).setBigUint64(2, BigInt(bytes));
  return head;
}
