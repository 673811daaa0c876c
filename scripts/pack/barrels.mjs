// Which declaration file declares a name, seen through files that only pass on what others export. So a library ships the declarations
// that its interface mentions, and not all of every package that it uses.

import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

/** @typedef {{ locals: Set<string>, from: Map<string, { specifier: string, name: string }>, all: string[] }} Exports */

export class Barrels {
  /** @type {Map<string, Exports>} */
  #exports = new Map();
  #resolve;

  /** @param {(file: string, specifier: string) => string | undefined} resolve undefined: of a package that stays a package */
  constructor(resolve) {
    this.#resolve = resolve;
  }

  /** @returns {{ file: string, name: string } | undefined} undefined where `file` exports no such name */
  declared(file, name) {
    const { locals, from, all } = this.#exportsOf(file);
    if (locals.has(name)) return { file, name };
    const passed = from.get(name);
    if (passed !== undefined) {
      const target = this.#resolve(file, passed.specifier);
      return target === undefined ? { file, name } : this.declared(target, passed.name);
    }
    for (const specifier of all) {
      const target = this.#resolve(file, specifier);
      const found = target === undefined ? undefined : this.declared(target, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #exportsOf(file) {
    const known = this.#exports.get(file) ?? readExports(file);
    this.#exports.set(file, known);
    return known;
  }
}

/** @returns {Exports} */
function readExports(file) {
  const { program } = parseSync(file, readFileSync(file, 'utf8'));
  const exports = { locals: new Set(), from: new Map(), all: [] };
  for (const statement of program.body) {
    if (statement.type === 'ExportAllDeclaration') exports.all.push(statement.source.value);
    if (statement.type !== 'ExportNamedDeclaration') continue;
    for (const { local, exported } of statement.specifiers) {
      if (statement.source === null) exports.locals.add(exported.name);
      else exports.from.set(exported.name, { specifier: statement.source.value, name: local.name });
    }
    for (const name of declaredNames(statement.declaration)) exports.locals.add(name);
  }
  return exports;
}

function declaredNames(declaration) {
  if (declaration === null) return [];
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.map(({ id }) => id.name);
  return [declaration.id.name];
}
