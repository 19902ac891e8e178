// `npm run check [-- name …]` checks the code without running it. All checks run, even after one failed.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const BOUND_MS = 10 * 60_000;

const program = (...path: string[]) => join(checkout, 'node_modules', ...path);

/** The arguments of node for each check. Programs have fixed paths, so nothing is looked up in PATH. */
const checks: Record<string, string[]> = {
  types: [program('typescript', 'bin', 'tsc'), '-p', checkout],
  lint: [program('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings', checkout],
  imports: [join(checkout, 'scripts', 'import-table.ts')],
  patterns: [join(checkout, 'scripts', 'pattern-check.ts')],
  openapi: [
    program('@redocly', 'cli', 'bin', 'cli.js'),
    ...[
      'lint',
      'openapi.json',
      '--config',
      join('test', 'openapi', 'redocly.yaml'),
      '--max-problems',
      '1000',
    ],
  ],
  'dead code': [program('knip', 'bin', 'knip.js'), '--no-progress'],
  'code for tests only': [
    program('knip', 'bin', 'knip.js'),
    ...['--no-progress', '--production', '--config', 'knip.production.json'],
  ],
  generated: [join(checkout, 'scripts', 'generate.ts'), '--check'],
};

/** The last line of these is a figure, which is shown also when they pass. */
const withFigure = ['imports'];

/** @returns whether it passed */
async function run(name: string, args: string[]): Promise<boolean> {
  const started = performance.now();
  let output = '';
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(process.execPath, args, {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Redocly's linter asks nothing of the network.
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    timeout: BOUND_MS,
    killSignal: 'SIGKILL',
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  child.on('error', (error) => {
    output += error.message;
    resolve(false);
  });
  child.on('close', (code) => resolve(code === 0));
  const passed = await promise;
  if (!passed) console.log(output.trim());
  else if (withFigure.includes(name)) console.log(output.trim().split('\n').at(-1));
  console.log(
    `${passed ? 'ok    ' : 'FAILED'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`,
  );
  return passed;
}

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in checks));
if (unknown.length > 0) {
  console.error(`There is no check '${unknown.join("', '")}'. There are: ${Object.keys(checks).join(', ')}.`);
  process.exit(1);
}
let failed = 0;
for (const [name, args] of Object.entries(checks)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  if (!(await run(name, args))) failed++;
}
process.exitCode = failed === 0 ? 0 : 1;
