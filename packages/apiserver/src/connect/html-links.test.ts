import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LinkRewriter, proxiedBody } from './html-links.ts';

const place = { origin: 'http://10.0.0.1:8080', path: '/x/', prefix: '/api/v1/namespaces/n/pods/p/proxy' };
const html = { code: 200, type: 'text/html; charset=utf-8', encoding: undefined };
const page = (content: string | Buffer, head: Partial<Parameters<typeof proxiedBody>[1]> = {}): Readable =>
  proxiedBody(Readable.from([Buffer.from(content as string)]), { ...html, ...head }, place);

describe('links in proxied pages', () => {
  test.each([
    ['<a href="/rewriteme">test</a>', `<a href="${place.prefix}/rewriteme">test</a>`],
    ["<IMG alt='/x' SRC = '/a b.png'>", `<IMG alt='/x' SRC = '${place.prefix}/a b.png'>`],
    ['<form method=post action=/go?a=1&amp;b=2>', `<form method=post action=${place.prefix}/go?a=1&amp;b=2>`],
    ['<a href="http://10.0.0.1:8080/z#f">', `<a href="${place.prefix}/z#f">`],
    ['<video poster=/p src=/s controls/>', `<video poster=${place.prefix}/p src=${place.prefix}/s controls/>`],
    ['<a title="a > b" href="/x">é</a>', `<a title="a > b" href="${place.prefix}/x">é</a>`],
    ['<script src="/app.js">if (a<b) "<a href=\'/no\'>"</script><a href="/y">', null],
  ])('%s leads through the proxy', async (given, expected) => {
    const wanted = expected ?? `<script src="${place.prefix}/app.js">if (a<b) "<a href='/no'>"</script><a href="${place.prefix}/y">`;
    expect(await text(page(given))).toBe(wanted);
  });

  test.each([
    '<a href="relative/path">',
    '<a href="#top">',
    '<a href="//elsewhere.example/x">',
    '<a href="https://elsewhere.example/x">',
    `<a href="${place.prefix}/already">`,
    '<a data-href="/x" name="/x">',
    '<p href="/x">',
    '<!-- <a href="/x"> --><textarea><a href="/x"></textarea>',
    'a < b, c <= d, <',
    '<a href="/unfinished',
    '<a =x href',
  ])('%s stays as it is', async (given) => {
    expect(await text(page(given))).toBe(given);
  });

  test('in a tag that is too long stay as they are, and the rest of the page is not', async () => {
    const long = `<a ${'x'.repeat(20_000)} href="/x">`;
    expect(await text(page(`${long}<a href="/y">`))).toBe(`${long}<a href="${place.prefix}/y">`);
  });

  test('are found however the page is cut, and all other bytes stay', async () => {
    const part = fc.constantFrom(
      '<a href="/x">',
      '<!--',
      '-->',
      '<script>',
      '</script>',
      '<',
      '>',
      '"',
      "'",
      '<img src=/y>',
      ' é ',
      '=',
      '/',
    );
    const cuts = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 14 }), cuts, async (parts, sizes) => {
        const bytes = Buffer.from(parts.join(''));
        const pieces: Buffer[] = [];
        for (let at = 0, turn = 0; at < bytes.length; at += sizes[turn++ % sizes.length]!)
          pieces.push(bytes.subarray(at, at + sizes[turn % sizes.length]!));
        const whole = await buffer(Readable.from([bytes]).pipe(new LinkRewriter((link) => `/p${link}`)));
        const cut = await buffer(Readable.from(pieces).pipe(new LinkRewriter((link) => `/p${link}`)));
        expect(cut.equals(whole)).toBe(true);
        expect(await buffer(Readable.from(pieces).pipe(new LinkRewriter((link) => link)))).toEqual(bytes);
      }),
    );
  });

  test('are changed in compressed pages too', async () => {
    const packed = await buffer(page(gzipSync('<a href="/x">'), { encoding: 'gzip' }));
    expect(gunzipSync(packed).toString()).toBe(`<a href="${place.prefix}/x">`);
  });

  test.each([
    ['in other documents', { type: 'application/json' }],
    ['in parts of pages', { code: 206 }],
    ['in pages with an unknown encoding', { encoding: 'br' }],
  ])('are not changed %s', async (_where, head) => {
    expect(await text(page('<a href="/x">', head))).toBe('<a href="/x">');
  });

  test('a page that breaks off does not look complete', async () => {
    const body = new Readable({ read() {} });
    const rewritten = proxiedBody(body, html, place);
    body.push('<p>');
    setImmediate(() => body.destroy());
    await expect(text(rewritten)).rejects.toThrow('ended early');
  });
});
