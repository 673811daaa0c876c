/** Tables of declared messages: from the shapes that their declarations have as data. */

import { ERROR_CODES } from '../../packages/protocol/dist/error-code.js';
import { code, table } from './markdown.mjs';

const HEADINGS = ['message', 'field', 'type', 'bound', 'if missing'];
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
const ERROR_NAMES = Object.keys(ERROR_CODES);

/** @typedef {import('../../packages/protocol/dist/schema/shape.js').Shape} Shape */

/**
 * @param {Readonly<Record<string, { number: number, fields: Readonly<Record<string, Shape>> }>>} shapes of the family
 * @param {ReadonlyMap<Shape, string>} named shapes that have a table of their own: what stands for them
 * @param {(name: string) => string} [since] from which state version on a message exists
 */
export function messagesTable(shapes, named, since) {
  const rows = Object.entries(shapes).flatMap(([name, { number, fields }]) => {
    const head = [`${number} ${code(name)}`];
    const [first = ['', '', '', ''], ...others] = fieldRows(fields, named);
    const end = since === undefined ? [] : [since(name)];
    return [[...head, ...first, ...end], ...others.map((row) => ['', ...row, ...end.map(() => '')])];
  });
  return table(since === undefined ? HEADINGS : [...HEADINGS, 'since'], rows);
}

/** @param {Extract<Shape, { kind: 'record' }>} shape */
export function recordTable({ fields }, named) {
  return table(HEADINGS.slice(1), fieldRows(fields, named));
}

function fieldRows(fields, named) {
  return Object.entries(fields).flatMap(([name, shape]) => rowsOf(name, shape, named));
}

/** A record without a table of its own is written out, field by field. */
function rowsOf(name, shape, named, absent = '') {
  if (shape.kind === 'later') return rowsOf(name, shape.of, named, absentText(shape.absent));
  const element = shape.kind === 'list' ? shape.of : shape;
  const path = shape.kind === 'list' ? `${name}[]` : name;
  if (element.kind !== 'record' || named.has(element))
    return [[code(name), typeOf(shape, named), boundOf(shape), absent]];
  const inner = Object.entries(element.fields).flatMap(([field, of]) => rowsOf(`${path}.${field}`, of, named));
  return shape.kind === 'list' ? [[code(name), 'list', '', absent], ...inner] : inner;
}

function absentText(absent) {
  return absent === undefined ? 'undefined' : code(JSON.stringify(absent));
}

function typeOf(shape, named) {
  const name = named.get(shape);
  if (name !== undefined) return name;
  switch (shape.kind) {
    case 'text':
    case 'boolean':
      return shape.kind;
    case 'integer':
      return shape.min < 0 ? 'signed integer' : 'integer';
    case 'bytes':
      return 'byte string';
    case 'choice':
      return isErrorCode(shape) ? '[error code](error-codes.md)' : 'choice';
    case 'tuple':
      return 'tuple of any fields';
    case 'block':
      return `[${shape.of}](../formats.md#frames)`;
    case 'list':
      return `list of ${typeOf(shape.of, named)}`;
    default:
      throw new Error(`a ${shape.kind} of ${Object.keys(shape.of ?? shape.fields).join(', ')} has no table of its own`);
  }
}

function boundOf(shape) {
  switch (shape.kind) {
    case 'text':
      return `at most ${bytesOrUnits(shape.maxLength)} units`;
    case 'bytes':
      return shape.minLength === shape.maxLength
        ? `${shape.maxLength} bytes${shape.orNone === true ? ', or none' : ''}`
        : `at most ${bytesOrUnits(shape.maxLength)} bytes`;
    case 'block':
    case 'tuple':
      return `at most ${bytesOrUnits(shape.maxBytes)} bytes`;
    case 'integer':
      return shape.max === MAX_INTEGER ? '' : `${bytesOrUnits(shape.min)} to ${bytesOrUnits(shape.max)}`;
    case 'choice':
      return isErrorCode(shape) ? '' : shape.of.map((value, place) => `${place} ${value}`).join(', ');
    case 'list':
      return [shape.maxLength === undefined ? '' : `at most ${shape.maxLength}`, boundOf(shape.of)]
        .filter((bound) => bound !== '')
        .join(', each ');
    default:
      return '';
  }
}

function isErrorCode({ of }) {
  return of.length === ERROR_NAMES.length && of.every((name, place) => name === ERROR_NAMES[place]);
}

function bytesOrUnits(number) {
  return number.toLocaleString('en-US');
}
