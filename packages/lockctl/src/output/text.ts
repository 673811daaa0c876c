/**
 * Text of others, made safe to show. What servers send is written by whoever reaches them, and a terminal obeys some characters, hides
 * some and reorders the line for some: each is shown as an escape, so that no output acts, and no name looks like another's.
 */

/**
 * Controls (C0, C1), formats (bidi, zero-width, tags), separators and spaces other than the plain one, whatever Unicode says may be left
 * out of what is shown (variation selectors, fillers, soft hyphen), Braille's blank, halves of characters, and what stands for styles
 * here.
 */
const UNSAFE = /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u2800\uFDD0-\uFDD2]/gu;
/** Characters that no text has (Unicode keeps them free): where a style begins and ends, until the text is written. */
const MARKS = { heading: '\uFDD0', alarm: '\uFDD1', end: '\uFDD2' } as const;
const SEQUENCES: Readonly<Record<string, string>> = {
  [MARKS.heading]: '\u001B[1m',
  [MARKS.alarm]: '\u001B[1;31m',
  [MARKS.end]: '\u001B[0m',
};
/** What begins like an escape of ours without being one. */
const LIKE_AN_ESCAPE = /\\(?=u)/g;

/** One field, a name say: no two different ones look the same for what is in them but cannot be seen. */
export function printable(text: string): string {
  return printableLine(text.replace(LIKE_AN_ESCAPE, String.raw`\u005c`));
}

/** One line, in which fields may have been made printable before. */
export function printableLine(text: string): string {
  return text.replace(UNSAFE, escapeForPeople);
}

/**
 * Lines; what has been made printable before stays as it is. Styles are shown where there are colours. What comes from others is made
 * printable before it stands beside one, so that it has none.
 */
export function printableLines(text: string, colours = false): string {
  return text.replace(UNSAFE, (character) => {
    if (character === '\n') return character;
    const sequence = SEQUENCES[character];
    if (sequence === undefined) return escapeForPeople(character);
    return colours ? sequence : '';
  });
}

/** Our own words, in a style. */
export function styled(style: 'heading' | 'alarm', text: string): string {
  return `${MARKS[style]}${text}${MARKS.end}`;
}

/** A JSON document in the same way; its values stay what they were. */
export function printableJson(document: string): string {
  return document.replace(UNSAFE, (character) => {
    if (character === '\n') return character;
    return Array.from({ length: character.length }, (_, unit) => escapeUnit(character.charCodeAt(unit))).join('');
  });
}

function escapeForPeople(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return point > 0xffff ? `\\u{${point.toString(16)}}` : escapeUnit(point);
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
