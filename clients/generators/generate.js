// Has the generators of TypeScript make clients of all documents in a folder, and compiles them.
//
//   node generate.js FOLDER   which has documents/*.json, and gets types/*.ts and orval/*.ts

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import openapiTypes, { astToString } from 'openapi-typescript';
import { generate } from 'orval';
import typescript from 'typescript';

const folder = path.resolve(process.argv[2]);
const designs = readdirSync(path.join(folder, 'documents')).map((file) => path.basename(file, '.json'));
mkdirSync(path.join(folder, 'types'));

for (const design of designs) {
  const file = path.join(folder, 'documents', `${design}.json`);
  const operations = Object.values(JSON.parse(readFileSync(file, 'utf8')).paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => operation.operationId);

  const types = astToString(await openapiTypes(pathToFileURL(file)));
  writeFileSync(path.join(folder, 'types', `${design}.ts`), types);
  const declared = types.slice(types.indexOf('export interface operations'));
  const missing = operations.filter((id) => !new RegExp(`^    "?${id.replaceAll('.', '\\.')}"?: \\{$`, 'm').test(declared));
  if (missing.length > 0) throw new Error(`${design}: openapi-typescript leaves out ${missing}`);

  const target = path.join(folder, 'orval', `${design}.ts`);
  await generate({
    input: { target: file },
    output: { target, client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true } },
  });
  const functions = readFileSync(target, 'utf8').match(/^export const \w+ = async /gm) ?? [];
  if (functions.length !== operations.length) {
    throw new Error(`${design}: orval makes ${functions.length} of ${operations.length} operations`);
  }
}

const files = designs.flatMap((design) => ['types', 'orval'].map((kind) => path.join(folder, kind, `${design}.ts`)));
const program = typescript.createProgram(files, {
  target: typescript.ScriptTarget.ES2022,
  module: typescript.ModuleKind.ES2022,
  moduleResolution: typescript.ModuleResolutionKind.Bundler,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: [],
  strict: true,
  outDir: path.join(folder, 'out'),
  rootDir: folder,
});
const found = [...typescript.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
if (found.length > 0) {
  const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => folder, getNewLine: () => '\n' };
  throw new Error(typescript.formatDiagnostics(found, host));
}
writeFileSync(path.join(folder, 'out', 'package.json'), '{"type":"module"}');
