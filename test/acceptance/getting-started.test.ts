/** README.md and docs/getting-started.md, pasted from the first command to the last: they print every line shown. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { checkout, Installation } from './harness/installation.ts';

const documentedUrl = 'http://127.0.0.1:8080';
const boundMilliseconds = 400_000;

interface Step {
  commands: string;
  /** The output that the document shows. */
  shown: string;
}

function stepsOf(document: string): Step[] {
  const blocks = document.matchAll(/^```bash\n(.*?)^```\n\n```text\n(.*?)^```/gms);
  return [...blocks].map(([, commands = '', shown = '']) => ({ commands, shown }));
}

/** The lines of an output, with ids and times replaced. */
function steady(output: string): string[] {
  return output
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'id')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'time')
    .split('\n')
    .filter((line) => line !== '');
}

/** Lines that may or may not be printed: a status while waiting, and `…` for lines left out. */
const passing = ['{"status":"RUNNING"}', '…'];

/** In this order: the first one lists all projects. */
const documents = ['docs/getting-started.md', 'README.md'].map((path) => {
  const text = readFileSync(join(checkout, path), 'utf8');
  return { path, text, steps: stepsOf(text) };
});

describe('the commands of the documents', () => {
  let headgate: Installation;
  const outputs = new Map<string, string[]>();

  before(async () => {
    headgate = await Installation.create({
      fromEmpty: true,
      environment: {
        HEADGATE_CLIENT_ID: undefined,
        HEADGATE_CLIENT_SECRET: undefined,
        HEADGATE_EXAMPLE: 'on',
      },
    });
    await headgate.start('npm');
    await waitUntil('the example', 120, () =>
      headgate.output.includes('The example project "Weather" is published'),
    );
    for (const { path, steps } of documents) outputs.set(path, await paste(steps, headgate));
  });
  after(() => headgate.remove());

  for (const { path, text, steps } of documents) {
    it(`${path} has an output for every command`, () => {
      assert.ok(steps.length > 0);
      assert.equal(steps.length, text.match(/^```bash$/gm)?.length);
    });

    it(`${path} shows what its commands print`, () => {
      const wrong = steps.flatMap(({ commands, shown }, index) => {
        const printed = steady(outputs.get(path)?.[index] ?? '');
        const missing = steady(shown).filter((line) => !passing.includes(line) && !printed.includes(line));
        return missing.length === 0
          ? []
          : [[commands, 'shows', ...missing, 'printed', ...printed].join('\n')];
      });
      assert.deepEqual(wrong, [], wrong.join('\n\n'));
    });
  }
});

/** Runs the commands of all steps in one shell and returns the output of each step. */
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
  const output = await textOf(shell.stdout);
  const there = output
    .replaceAll(headgate.url, documentedUrl)
    .replaceAll(`${headgate.dataDirectory}/`, '.headgate/');
  return there.split(`${divider}\n`);
}
