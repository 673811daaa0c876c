// package.json as it is published.

import { builtinModules } from 'node:module';

import { RANGES } from './packages.mjs';

const BUILTINS = new Set(builtinModules);
/** What programs are started with and maps lead to, besides what `exports` names. */
const FILES = ['dist', 'src', 'CHANGELOG.md'];

/**
 * @param {{ member: import('./workspace.mjs').Member, description: import('./packages.mjs').PublicPackage, imports: readonly string[],
 *   members: Map, entries: { main?: string, module?: string, types?: string, moduleTypes?: string } }} options
 */
export function publishedManifest({ member, description, imports, members, entries }) {
  const { name, version, description: text, license, bin, engines } = member.manifest;
  const { peers = [], keywords, kind } = description;
  const installed = packagesOf(imports);
  // Packages of the workspace are released together: of another version none of them is tried.
  const ownPeers = Object.fromEntries(peers.map((each) => [each, members.get(each).manifest.version]));
  const peerRanges = { ...ownPeers, ...member.manifest.peerDependencies };
  return {
    name,
    version,
    description: text,
    keywords,
    license,
    files: FILES,
    type: kind === 'library' ? 'commonjs' : 'module',
    ...(kind === 'library' ? libraryEntries(entries) : programEntries(bin, entries)),
    dependencies: Object.fromEntries(
      installed.filter((each) => peerRanges[each] === undefined).map((each) => [each, rangeOf(members, each)]),
    ),
    ...(Object.keys(peerRanges).length > 0 && { peerDependencies: peerRanges }),
    engines,
    publishConfig: { access: 'public' },
  };
}

function libraryEntries({ main, module, types, moduleTypes }) {
  return {
    main,
    types,
    exports: {
      '.': { import: { types: moduleTypes, default: module }, require: { types, default: main } },
      './package.json': './package.json',
    },
    sideEffects: false,
  };
}

function programEntries(bin, { main }) {
  return {
    bin: Object.fromEntries(Object.keys(bin).map((command) => [command, main])),
    exports: { './package.json': './package.json' },
  };
}

function packagesOf(imports) {
  const names = imports
    .filter((each) => !each.startsWith('node:') && !BUILTINS.has(each))
    .map((each) =>
      each
        .split('/')
        .slice(0, each.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  return [...new Set(names)].toSorted((left, right) => (left < right ? -1 : 1));
}

function rangeOf(members, name) {
  const versions = [...members.values()].flatMap(({ manifest }) => manifest.dependencies?.[name] ?? []);
  const [version] = versions;
  if (version === undefined) throw new Error(`${name} is imported, but no package of the workspace depends on it`);
  return RANGES[name]?.(version) ?? `^${version}`;
}
