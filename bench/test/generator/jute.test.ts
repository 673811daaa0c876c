import { describe, expect, it } from 'vitest';

import { JuteReader, JuteWriter } from '../../src/generator/zookeeper/jute.ts';

describe('jute', () => {
  it('reads back what it wrote, past the size that it began with', () => {
    const data = new Uint8Array(100).fill(7);
    const frame = new JuteWriter(8).int(-2).long(-3n).string('/é').buffer(data).boolean(true).frame();
    expect(frame.readInt32BE(0)).toBe(frame.length - 4);
    const reader = new JuteReader(frame, 4);
    expect(reader.int()).toBe(-2);
    expect(reader.long()).toBe(-3n);
    expect(reader.string()).toBe('/é');
    expect(reader.buffer()).toEqual(Buffer.from(data));
    expect(frame.at(-1)).toBe(1);
  });

  it('takes the length -1 as nothing', () => {
    const frame = new JuteWriter().int(-1).int(-1).frame();
    const reader = new JuteReader(frame, 4);
    expect(reader.string()).toBe('');
    expect(reader.buffer()).toHaveLength(0);
  });
});
