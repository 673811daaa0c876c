/** The longest partial linearization as text: which operations have a place in the order, and what has none behind them. */

import type { OrderedOperation, PartialLinearization } from '../../checkers/verdict.ts';

export function orderText(partial: PartialLinearization): string {
  const { object, ordered, orderedBefore, state, stuck, concurrent, explained, returns } = partial;
  const first = orderedBefore + 1;
  const width = String(orderedBefore + ordered.length).length;
  const lines = [
    `${object}: one order explains ${explained} of ${returns} answers.`,
    ...(orderedBefore === 0 ? [] : [`  … ${orderedBefore} operations before`]),
    ...ordered.map((operation, n) => `  ${String(first + n).padStart(width)}. ${told(operation)}`),
    `then it is ${state}, and there is no place for`,
    `  ✗ ${told(stuck)}`,
  ];
  if (concurrent.length > 0) {
    lines.push('under way with it, and without a place yet');
    lines.push(...concurrent.map((operation) => `  · ${told(operation)}`));
  }
  return lines.join('\n');
}

function told({ text, invoke, answer }: OrderedOperation): string {
  return `${text}  (${answer === undefined ? `event ${invoke}, outcome unknown` : `events ${invoke}–${answer}`})`;
}
