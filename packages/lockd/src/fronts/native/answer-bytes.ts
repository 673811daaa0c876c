/** About how many bytes an answer takes in a frame: what callers must know is when it is large. */

import type { Answer } from '@holdfast/protocol';

/** Numbers and lengths of one element of a listing; its texts come on top. */
const ELEMENT_BYTES = 48;

export function answerBytes(answer: Answer): number {
  switch (answer.type) {
    case 'get':
      return ELEMENT_BYTES + answer.data.length;
    case 'children':
      return sum(answer.names, (name) => name.length);
    case 'locks':
      return sum(answer.locks, ({ lock, holders }) => lock.length + labels(holders));
    case 'lock':
      return labels(answer.queue);
    case 'sessions':
      return labels(answer.sessions);
    case 'error':
    case 'exists':
    case 'verify':
      return ELEMENT_BYTES;
  }
}

function labels(elements: readonly { readonly label: string }[]): number {
  return sum(elements, ({ label }) => label.length);
}

function sum<T>(elements: readonly T[], textLength: (element: T) => number): number {
  return elements.reduce((bytes, element) => bytes + ELEMENT_BYTES + textLength(element), ELEMENT_BYTES);
}
