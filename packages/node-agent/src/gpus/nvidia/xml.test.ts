import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GpuError } from '../errors.ts';
import { fixture } from '../testing.ts';
import { childAt, childrenAt, parseXml, textAt } from './xml.ts';

const whole = fixture('nvidia-h200/nvidia-smi-q.xml');

describe('parseXml', () => {
  test('reads elements, attributes, text and entities', () => {
    const root = parseXml(
      '<?xml version="1.0" ?>\n<!DOCTYPE a SYSTEM "a.dtd">\n<a><!-- <b> --><b id="1&lt;2">x &amp; &#121;</b><b/></a>\n',
    );
    expect(root.children.map(({ name }) => name)).toEqual(['b', 'b']);
    expect(childAt(root, 'b')?.attributes.get('id')).toBe('1<2');
    expect(textAt(root, 'b')).toBe('x & y');
    expect(textAt(root, 'b/c')).toBeUndefined();
    expect(childrenAt(root, 'b')).toHaveLength(2);
  });

  test.each([
    ['an element that is not closed', '<a><b></b>', 'Incomplete'],
    ['a tag that is cut', '<a><b', 'Incomplete'],
    ['elements that overlap', '<a><b></a></b>', 'Malformed'],
    ['two roots', '<a></a><b></b>', 'Malformed'],
    ['text outside', 'hello<a></a>', 'Malformed'],
    ['nothing', '', 'Malformed'],
    ['definitions of entities', '<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>', 'Malformed'],
    ['CDATA', '<a><![CDATA[<b>]]></a>', 'Malformed'],
    ['too many levels', '<a>'.repeat(100), 'Malformed'],
  ])('rejects %s', (_, text, code) => {
    expect(() => parseXml(text)).toThrow(expect.objectContaining({ code }) as Error);
  });

  test('rejects every cut of a real document', () => {
    const end = whole.trimEnd().length;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: end - 1 }), (length) => {
        expect(() => parseXml(whole.slice(0, length))).toThrow(GpuError);
      }),
    );
  });

  test('answers any text with a tree or a GpuError', () => {
    const pieces = fc.constantFrom(
      '<a>',
      '</a>',
      '<b x="1">',
      '</b>',
      '<!--',
      '-->',
      '<?',
      '<!DOCTYPE',
      '>',
      '<',
      '&',
      ';',
      'text',
      '"',
      '\0',
    );
    fc.assert(
      fc.property(fc.array(pieces), (parts) => {
        try {
          parseXml(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(GpuError);
        }
      }),
    );
  });
});
