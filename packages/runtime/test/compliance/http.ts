/** What every Network must do with plain HTTP on a listening port. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HttpOptions, HttpRequest, HttpResponse, Listener } from '../../src/index.ts';
import type { NetworkFixture } from './network.ts';

export interface HttpAsk {
  readonly target: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Hears an answer's pieces as they come; false ends it. */
  readonly piece?: (text: string) => boolean;
}

export interface HttpAnswer {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HttpFixture extends NetworkFixture {
  ask(address: string, ask: HttpAsk): Promise<HttpAnswer>;
  /** Calls back in a moment, at the server. */
  later(callback: () => void): void;
}

const POST = { httpMethods: ['GET', 'POST'], maxHttpBodyBytes: 1_000 };
const text = (body: HttpResponse['body']): HttpResponse => ({ status: 200, contentType: 'text/plain', body });

export function httpCompliance(name: string, setup: () => Promise<HttpFixture>): void {
  describe(`HTTP of the ${name} runtime`, () => {
    let fixture: HttpFixture;
    let listener: Listener;

    beforeEach(async () => {
      fixture = await setup();
    });
    afterEach(async () => {
      await fixture.complete(listener.close());
      await fixture.teardown();
    });

    const serve = async (options: HttpOptions): Promise<(ask: HttpAsk) => Promise<HttpAnswer>> => {
      const { anyAddress } = fixture;
      listener = await fixture.complete(
        fixture.server.listen({ address: anyAddress, maxFrameBytes: 100, onConnection() {}, ...options }),
      );
      return (ask) => fixture.complete(fixture.ask(listener.address, ask));
    };

    it('gives a handler the whole request: its method, target, headers, body, and who asks', async () => {
      const heard: HttpRequest[] = [];
      const ask = await serve({
        ...POST,
        http: (request) => {
          heard.push(request);
          return text('well');
        },
      });
      const body = Uint8Array.from({ length: 900 }, (_, n) => n % 256);
      expect(await ask({ target: '/a?b=c', method: 'POST', headers: { 'x-kind': 'one' }, body })).toMatchObject({
        status: 200,
        body: 'well',
      });
      const [request] = heard;
      expect(request).toMatchObject({ method: 'POST', target: '/a?b=c', peerIdentity: undefined });
      expect(request?.headers.get('x-kind')).toBe('one');
      expect(request?.headers.get('host')).toBe(listener.address);
      expect(request?.remoteAddress).toMatch(/:\d+$/);
      expect([...(request?.body ?? [])]).toEqual([...body]);
    });

    it('sends the headers of an answer, and a body of bytes', async () => {
      const http = (): HttpResponse => ({
        ...text(new TextEncoder().encode('bytes')),
        headers: { 'X-Next': '/more' },
      });
      const answer = await (await serve({ http }))({ target: '/' });
      expect(answer).toMatchObject({ status: 200, body: 'bytes' });
      expect(answer.headers['x-next']).toBe('/more');
    });

    it('refuses a body that is too long, and a method that is not served', async () => {
      let asked = 0;
      const http = (): HttpResponse => {
        asked += 1;
        return text('well');
      };
      const ask = await serve({ ...POST, http });
      expect((await ask({ target: '/', method: 'POST', body: new Uint8Array(1_001) })).status).toBe(413);
      expect((await ask({ target: '/', method: 'PUT' })).status).toBe(405);
      expect(asked).toBe(0);
      expect((await ask({ target: '/', method: 'POST', body: new Uint8Array(1_000) })).status).toBe(200);
    });

    it('leaves bodies alone where none are asked for', async () => {
      const bodies: number[] = [];
      const ask = await serve({
        httpMethods: ['POST'],
        http: ({ body }) => {
          bodies.push(body.length);
          return text('well');
        },
      });
      expect((await ask({ target: '/', method: 'POST', body: new Uint8Array(10) })).status).toBe(200);
      expect(bodies).toEqual([0]);
    });

    it('sends an answer piece by piece as it is made', async () => {
      const pieces: string[] = [];
      let made = 0;
      let goOn = (): void => {};
      async function* make(): AsyncIterable<string> {
        for (const piece of ['one ', 'two ', 'three']) {
          made += 1;
          yield piece;
          // The next one when this one was heard.
          await new Promise<void>((resolve) => (goOn = resolve));
        }
      }
      const ask = await serve({ http: () => text(make()) });
      const piece = (heard: string): boolean => {
        pieces.push(heard);
        expect(made).toBe(pieces.length);
        goOn();
        return true;
      };
      expect(await ask({ target: '/', piece })).toMatchObject({ status: 200, body: 'one two three' });
      expect(pieces).toEqual(['one ', 'two ', 'three']);
    });

    it('tells who makes an answer that its client is gone', async () => {
      let ended = false;
      async function* make(): AsyncIterable<string> {
        try {
          for (;;) {
            yield 'more ';
            await new Promise<void>((resolve) => fixture.later(resolve));
          }
        } finally {
          ended = true;
        }
      }
      const ask = await serve({ http: () => text(make()) });
      await ask({ target: '/', piece: () => false });
      await fixture.until(() => ended);
      expect(ended).toBe(true);
    });
  });
}
