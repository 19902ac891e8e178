/** Clients that two generators make of openapi.json compile under `strict`, with types named as in the document. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const document = join(here, '..', '..', 'openapi.json');
const schemas = Object.keys(
  (JSON.parse(readFileSync(document, 'utf8')) as { components: { schemas: object } }).components.schemas,
);
const run = promisify(execFile);

/** A program of this workspace's packages, by its own path. */
async function program(folder: string, path: readonly string[], args: readonly string[]): Promise<void> {
  const file = join(here, 'node_modules', ...path);
  await run(process.execPath, [file, ...args], { cwd: folder, timeout: 400_000 }).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) => assert.fail(`${path[0]}: ${stdout}${stderr}`),
  );
}

const compilerOptions = {
  strict: true,
  noEmit: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  types: [],
};

/** What a user of a generated client writes. The second request lacks a member: it must not compile. */
const useOfHeyApi = `
import { createVariable, getPipelineExecutionStatus, type PipelineExecution, type ProblemDetail, type Project, type SecretsLocation, type Variable } from './hey-api';
const path = { projectId: '01a1fd70-f1c0-7244-8210-e48437b65569' };
export async function use(): Promise<Variable | ProblemDetail | undefined> {
  const { data, error } = await createVariable({ path, body: { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' } });
  // @ts-expect-error type is required
  await createVariable({ path, body: { name: 'city', behaviour: 'SHARED' } });
  const { data: state } = await getPipelineExecutionStatus({ path: { ...path, pipelineExecutionId: 'x' } });
  const status: PipelineExecution['status'] | undefined = state?.status;
  const place: SecretsLocation = { type: 'AWS_SECRET_MANAGER', region: 'eu-north-1' };
  const project: Project = { id: path.projectId, name: place.type };
  return status === 'SUCCESS' || project.name === '' ? data : error;
}
`;
const useOfOpenApiTypescript = `
import type { components, operations } from './schema';
type Schemas = components['schemas'];
type Created = operations['createVariable']['responses'][201]['content']['application/json'];
export const type: Created['type'] = 'NUMBER';
export const problem = (detail: Schemas['ProblemDetail']): string => detail.code;
export const run = (execution: Schemas['PipelineExecution']): Schemas['PipelineExecutionStatus'] => execution.status;
export const project: Schemas['Project'] = { id: '01a1fd70-f1c0-7244-8210-e48437b65569', name: 'Weather' };
// @ts-expect-error there is no such type
export const wrong: Schemas['VariableType'] = 'DATE';
`;

describe('a client generated from openapi.json', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-openapi-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(async () => {
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    const settings = { compilerOptions, include: ['*.ts', 'hey-api'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    writeFileSync(join(folder, 'use-of-hey-api.ts'), useOfHeyApi);
    writeFileSync(join(folder, 'use-of-openapi-typescript.ts'), useOfOpenApiTypescript);
    const heyApi = join('@hey-api', 'openapi-ts', 'bin', 'run.js');
    await program(
      folder,
      [heyApi],
      ['--input', document, '--output', join(folder, 'hey-api'), '--no-log-file'],
    );
    const openApiTypescript = join('openapi-typescript', 'bin', 'cli.js');
    await program(folder, [openApiTypescript], [document, '--output', join(folder, 'schema.ts')]);
  });

  it('compiles under strict', () => program(folder, ['typescript', 'bin', 'tsc'], ['-p', folder]));

  it('has a type for each schema of the document, and none that a generator had to number', () => {
    const types = readFileSync(join(folder, 'hey-api', 'types.gen.ts'), 'utf8');
    const exported = [...types.matchAll(/^export type (\w+)/gm)].map(([, name = '']) => name);
    const missing = schemas.filter((name) => !exported.includes(name));
    assert.deepEqual(missing, []);
    for (const name of ['Project', 'Variable', 'PipelineExecution', 'ProblemDetail', 'ProjectPage'])
      assert.ok(exported.includes(name), name);
    assert.deepEqual(
      exported.filter((name) => /\d$|^_|unnamed/i.test(name)),
      [],
    );
    assert.equal(new Set(exported).size, exported.length);
    const schema = readFileSync(join(folder, 'schema.ts'), 'utf8');
    for (const name of schemas) assert.match(schema, new RegExp(`^ {8}${name}: `, 'm'));
  });
});
