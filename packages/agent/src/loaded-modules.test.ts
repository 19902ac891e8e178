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
  '/packages/contract/src/index.ts',
  '/packages/pipelines/',
];
/** It imports nothing. */
const reader = '/packages/pipelines/src/sql/tokens/tokens.ts';

test('an agent starts without schemas and rarely needed libraries', () => {
  const main = new URL('main.ts', import.meta.url).href;
  // Without settings the agent ends after all its modules are loaded.
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
  assert.deepEqual(
    urls.filter((url) => rare.some((part) => url.includes(part)) && !url.endsWith(reader)),
    [],
  );
});
