import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { document, embedded, Html, markup } from '../../../src/report/page/html.ts';

const HOSTILE = `</script><script>alert(1)</script><!-- "quotes" 'and' & \u0000\u2028\u202e`;

describe('a page out of parts', () => {
  it('escapes whatever is no markup of its own', () => {
    const { text } = markup`<p title="${HOSTILE}">${[HOSTILE, markup`<b>${1}</b>`]}${false}${undefined}</p>`;
    expect(text.match(/<[^>]*>/g)?.length).toBe(4);
    expect(text).not.toMatch(/<script|<!--|[\p{Cc}\p{Cf}\p{Zl}]/u);
    expect(text).toContain('&lt;/script&gt;');
    expect(text).toContain('&quot;quotes&quot; &#39;and&#39; &amp; ␀');
    expect(text).toContain('<b>1</b>');
  });

  it('keeps the lines of a message', () => {
    expect(markup`${'a\nb\tc'}`.text).toBe('a\nb␉c');
  });

  it('embeds data that ends no element and begins no comment, and is the same when it is read', () => {
    const { text } = embedded({ [HOSTILE]: [HOSTILE] });
    expect(text).not.toMatch(/[<>&\u2028]/);
    expect(JSON.parse(text)).toEqual({ [HOSTILE]: [HOSTILE] });
  });

  it('lets the browser run its own script and nothing else, and fetch nothing', () => {
    const script = 'let x = 1 < 2;';
    const page = document({ title: HOSTILE, style: 'p {}', script, body: new Html('<p></p>'), data: 1 });
    const policy = /content="(default-src[^"]*)"/.exec(page)?.[1] ?? '';
    const hash = createHash('sha256').update(script).digest('base64');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src 'sha256-${hash}'`);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(page).toContain(`<script>${script}</script>`);
  });
});
