/** Doc comments of a source file, and what it declares at its top: what a built file no longer has. Parsed, not searched for. */

import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

/**
 * @typedef {{ name: string, doc: string, exported: boolean, init: object | null }} Constant
 * @typedef {{ constants: Constant[], doc: (node: { start: number }) => string, program: object }} Source
 */

/** @returns {Source} */
export function parseSource(path) {
  const text = readFileSync(path, 'utf8');
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  /** The doc comment with nothing but white space between it and the node. */
  const doc = ({ start }) => {
    const comment = comments.findLast(({ end }) => end <= start);
    // The first of a file is about the file.
    if (comment === undefined || !comment.value.startsWith('*') || comment === comments[0]) return '';
    return text.slice(comment.end, start).trim() === '' ? plain(comment.value) : '';
  };
  const constants = program.body.flatMap((statement) => {
    const exported = statement.type === 'ExportNamedDeclaration';
    const declaration = exported ? statement.declaration : statement;
    if (declaration?.type !== 'VariableDeclaration' || declaration.kind !== 'const') return [];
    return declaration.declarations.map(({ id, init }) => ({ name: id.name, doc: doc(statement), exported, init }));
  });
  return { constants, doc, program };
}

/** The properties of an object that a constant is initialised with, and those of an interface, each with its doc comment. */
export function propertiesOf(path, name) {
  const { constants, doc, program } = parseSource(path);
  const init = withoutTypes(constants.find((constant) => constant.name === name)?.init);
  const object = init?.type === 'CallExpression' ? init.arguments.at(-1) : init;
  if (object?.type === 'ObjectExpression')
    return object.properties.map((property) => ({ name: keyOf(property), doc: doc(property) }));
  for (const statement of program.body) {
    const declaration = statement.declaration ?? statement;
    if (declaration.type === 'TSInterfaceDeclaration' && declaration.id.name === name)
      return declaration.body.body.map((property) => ({ name: keyOf(property), doc: doc(property) }));
  }
  throw new Error(`${path} declares no object or interface ${name}`);
}

/** A number that the initialiser of a constant comes to, from literals and constants beside it; undefined for anything else. */
export function numberOf(init, constants) {
  const node = withoutTypes(init);
  switch (node?.type) {
    case 'Literal':
      return typeof node.value === 'number' ? node.value : undefined;
    case 'Identifier': {
      const other = constants.find(({ name }) => name === node.name);
      return other === undefined ? undefined : numberOf(other.init, constants);
    }
    case 'BinaryExpression':
      return calculated(node.operator, numberOf(node.left, constants), numberOf(node.right, constants));
    default:
      return undefined;
  }
}

/** For a cell of a table, which refuses one that is too long. */
export function firstSentence(doc) {
  return /^.*?[.!?](?= [A-Z`{@]|$)/.exec(doc)?.[0] ?? doc;
}

function calculated(operator, left, right) {
  if (left === undefined || right === undefined) return undefined;
  const operations = {
    '+': () => left + right,
    '-': () => left - right,
    '*': () => left * right,
    '/': () => left / right,
    '**': () => left ** right,
  };
  return operations[operator]?.();
}

function withoutTypes(node) {
  return node?.type === 'TSAsExpression' || node?.type === 'TSSatisfiesExpression'
    ? withoutTypes(node.expression)
    : node;
}

function keyOf({ key }) {
  return key.name ?? key.value;
}

/** A comment as one line of text: links by their names alone. */
function plain(comment) {
  return comment
    .slice(1)
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, '').trim())
    .join(' ')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .trim();
}
