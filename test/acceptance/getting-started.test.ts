/** Runs all commands of docs/getting-started.md in order: they print every line that the document shows. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { until } from '../../packages/server/src/testing/waiting.ts';
import { checkout, Installation } from './harness/installation.ts';

const documentedUrl = 'http://127.0.0.1:8080';
const boundMilliseconds = 240_000;

interface Step {
  commands: string;
  /** The output that the document shows. */
  shown: string;
}

function stepsOf(document: string): Step[] {
  const blocks = document.matchAll(/^```bash\n(.*?)^```\n\n```text\n(.*?)^```/gms);
  return [...blocks].map(([, commands = '', shown = '']) => ({ commands, shown }));
}

/** Lines without the parts that differ between runs. */
function steady(output: string): string[] {
  return output
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'id')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'time')
    .split('\n')
    .filter((line) => line !== '');
}

/** Lines that the document shows as possible, or as left out. */
const passing = ['{"status":"RUNNING"}', '…'];

describe('docs/getting-started.md', { timeout: boundMilliseconds + 60_000 }, () => {
  const document = readFileSync(join(checkout, 'docs', 'getting-started.md'), 'utf8');
  const steps = stepsOf(document);
  let headgate: Installation;
  let outputs: string[];

  before(async () => {
    headgate = await Installation.create({
      environment: {
        HEADGATE_CLIENT_ID: undefined,
        HEADGATE_CLIENT_SECRET: undefined,
        HEADGATE_EXAMPLE: 'on',
      },
    });
    await headgate.start('npm');
    await until('the example', 120, () =>
      headgate.output.includes('The example project "Weather" is published'),
    );
    outputs = await paste(steps, headgate);
  });
  after(() => headgate.remove());

  it('shows the output of every command', () => {
    assert.ok(steps.length > 8);
    assert.equal(steps.length, document.match(/^```bash$/gm)?.length);
  });

  it('shows the output that the commands print', () => {
    const wrong = steps.flatMap(({ commands, shown }, index) => {
      const printed = steady(outputs[index] ?? '');
      const missing = steady(shown).filter((line) => !passing.includes(line) && !printed.includes(line));
      return missing.length === 0 ? [] : [[commands, 'shows', ...missing, 'printed', ...printed].join('\n')];
    });
    assert.deepEqual(wrong, [], wrong.join('\n\n'));
  });
});

/** Runs the commands of all steps in one shell, and returns the output of each step. */
async function paste(steps: readonly Step[], headgate: Installation): Promise<string[]> {
  const divider = '=== next step ===';
  const script = steps.map(({ commands }) => commands).join(`\necho '${divider}'\n`);
  const here = script
    .replaceAll(documentedUrl, headgate.url)
    .replaceAll('.headgate/', `${headgate.dataDirectory}/`);
  const shell = spawn('bash', ['-c', here], {
    cwd: checkout,
    env: { ...headgate.environment(), PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: boundMilliseconds,
    killSignal: 'SIGKILL',
  });
  const output = await text(shell.stdout);
  const there = output
    .replaceAll(headgate.url, documentedUrl)
    .replaceAll(`${headgate.dataDirectory}/`, '.headgate/');
  return there.split(`${divider}\n`);
}
