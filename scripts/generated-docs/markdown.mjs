/** Pages and tables as Markdown. */

export const COMMAND = 'npx -y pnpm@12 generated-docs';

const MAX_CELL_LENGTH = 120;

/** @param {...string} sections paragraphs and tables */
export function page(title, ...sections) {
  const note = `Generated from the built programs by \`${COMMAND}\`; do not edit.`;
  return `${[`# ${title}`, note, ...sections].join('\n\n')}\n`;
}

/** @param {readonly (readonly string[])[]} rows */
export function table(headings, rows) {
  for (const row of rows)
    for (const cell of row)
      if (cell.length > MAX_CELL_LENGTH)
        throw new Error(`a cell of ${cell.length} characters, over ${MAX_CELL_LENGTH}; say it shorter: ${cell}`);
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), `|${'---|'.repeat(headings.length)}`, ...rows.map(line)].join('\n');
}

export const code = (text) => `\`${text}\``;
