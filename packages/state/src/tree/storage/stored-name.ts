/**
 * A node's name as bytes: one for each UTF-16 unit when all are below 256, as nearly all names are, two otherwise. Exact for every
 * string, and compared without making one.
 */

const CODES_AT_ONCE = 1_024;

/** Part of a path, without making a string of it. */
export interface NamePart {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

export function whole(name: string): NamePart {
  return { text: name, from: 0, to: name.length };
}

export function isWide({ text, from, to }: NamePart): boolean {
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) > 0xff) return true;
  return false;
}

export function storedNameBytes(name: string): number {
  return nameBytes(name.length, isWide(whole(name)));
}

export function nameBytes(units: number, wide: boolean): number {
  return wide ? units * 2 : units;
}

export function writeName({ text, from, to }: NamePart, wide: boolean, target: Uint8Array, offset: number): void {
  let position = offset;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    target[position] = code;
    position += 1;
    if (!wide) continue;
    target[position] = code >>> 8;
    position += 1;
  }
}

export function sameName({ text, from, to }: NamePart, wide: boolean, source: Uint8Array, offset: number): boolean {
  let position = offset;
  for (let at = from; at < to; at += 1) {
    const code = wide ? wideCode(source, position) : source[position];
    if (text.charCodeAt(at) !== code) return false;
    position += wide ? 2 : 1;
  }
  return true;
}

export function readName(units: number, wide: boolean, source: Uint8Array, offset: number): string {
  let name = '';
  for (let begin = 0; begin < units; begin += CODES_AT_ONCE) {
    const end = Math.min(begin + CODES_AT_ONCE, units);
    if (wide) {
      const codes = Array.from({ length: end - begin }, (_, at) => wideCode(source, offset + (begin + at) * 2));
      name += String.fromCharCode(...codes);
    } else {
      name += String.fromCharCode(...source.subarray(offset + begin, offset + end));
    }
  }
  return name;
}

/** A name of one byte a unit as UTF-8; returns its end. */
export function copyNarrow(
  units: number,
  source: Uint8Array,
  offset: number,
  target: Uint8Array,
  position: number,
): number {
  let end = position;
  for (let at = offset; at < offset + units; at += 1) {
    const code = source[at] ?? 0;
    if (code < 0x80) {
      target[end] = code;
      end += 1;
    } else {
      target[end] = 0xc0 | (code >> 6);
      target[end + 1] = 0x80 | (code & 0x3f);
      end += 2;
    }
  }
  return end;
}

function wideCode(source: Uint8Array, position: number): number {
  return (source[position] ?? 0) | ((source[position + 1] ?? 0) << 8);
}
