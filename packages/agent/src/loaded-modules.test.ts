/** What an agent loads at its start stays in its memory. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** Each is needed rarely, or by a child process. */
const rare = [
  '/node_modules/typebox/',
  '/node_modules/@peculiar/',
  '/node_modules/@duckdb/',
  '/node_modules/esbuild/',
  '/node_modules/quickjs-emscripten/',
  '/node_modules/@aws-sdk/',
  '/node_modules/@azure/',
  '/node_modules/@google-cloud/',
  '/node_modules/ssh2/',
  '/node_modules/yauzl/',
  '/packages/agent/src/conversion/',
  '/packages/contract/src/index.ts',
  '/packages/pipelines/',
];
/** It imports nothing. */
const reader = '/packages/pipelines/src/sql/tokens/tokens.ts';

/** The modules of a program that a new process loads until it ends. */
function listLoaded(main: string): string[] {
  const code = `import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
    process.on('exit', () => console.log('loaded ' + JSON.stringify(urls)));
    await import(${JSON.stringify(main)});`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    encoding: 'utf8',
    env: {},
  });
  const urls = JSON.parse(/^loaded (.*)$/m.exec(stdout)?.[1] ?? '[]') as string[];
  assert.ok(urls.includes(main), stdout);
  return urls;
}

test('an agent starts without schemas and rarely needed libraries', () => {
  // Without settings the agent ends after all its modules are loaded.
  const urls = listLoaded(new URL('main.ts', import.meta.url).href);
  assert.deepEqual(
    urls.filter((url) => rare.some((part) => url.includes(part)) && !url.endsWith(reader)),
    [],
  );
});

test('the process of a DuckDB database loads of the pipelines only what reads SQL', () => {
  // Without a channel to an agent it ends after all its modules are loaded.
  const urls = listLoaded(new URL('warehouses/duckdb-process.ts', import.meta.url).href);
  const pipelines = urls.filter((url) => url.includes('/packages/pipelines/'));
  assert.deepEqual(
    pipelines.filter((url) => !url.includes('/src/sql/') && !url.endsWith('/src/format/trims.ts')),
    [],
  );
  assert.ok(!urls.some((url) => url.includes('/node_modules/yaml/')));
});
