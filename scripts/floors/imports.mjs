// Every module specifier of a source file: static and dynamic imports, re-exports, type imports, require and resolve.
// Parsed, not searched for, so that text in comments and strings does not count.

import { parseSync, Visitor } from 'oxc-parser';

/** @returns {{ specifier: string, line: number, lazy: boolean }[]} `lazy`: loaded when the program comes by, not at its start */
export function importsOf(path, text) {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const found = [];
  const add = (node, lazy = false) => {
    if (node?.type === 'Literal' && typeof node.value === 'string')
      found.push({ specifier: node.value, at: node.start, lazy });
  };
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source, true),
    TSImportType: (node) => add(node.source ?? node.argument),
    CallExpression: (node) => {
      if (isResolution(node.callee)) add(node.arguments[0]);
    },
  }).visit(program);
  return found.map(({ specifier, at, lazy }) => ({ specifier, line: lineOf(text, at), lazy }));
}

// require('x'), require.resolve('x'), import.meta.resolve('x').
function isResolution(callee) {
  if (callee.type === 'Identifier') return callee.name === 'require';
  if (callee.type !== 'MemberExpression' || callee.property.name !== 'resolve') return false;
  return (
    callee.object.type === 'MetaProperty' || (callee.object.type === 'Identifier' && callee.object.name === 'require')
  );
}

function lineOf(text, at) {
  let line = 1;
  for (let i = 0; i < at; i += 1) if (text.charCodeAt(i) === 10) line += 1;
  return line;
}
